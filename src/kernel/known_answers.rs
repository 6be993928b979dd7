//! Known answers for the self-test: one published good signature a scheme, and the bad ones made from it.

use super::{KeyError, PreparedKey, Scheme};

/// A published signature that every kernel of its scheme accepts. Its source stands beside its constants.
pub(super) struct KnownAnswer {
    /// The key.
    pub(super) key: fn() -> Result<PreparedKey, KeyError>,
    /// The signed bytes.
    pub(super) message: &'static [u8],
    /// The good signature.
    pub(super) signature: &'static [u8],
}

/// A message and a signature that no kernel may accept under the key of the known answer.
pub(super) struct BadAnswer {
    /// The bytes that were not signed.
    pub(super) message: Vec<u8>,
    /// The signature that is not good.
    pub(super) signature: Vec<u8>,
}

impl KnownAnswer {
    /// The known answer of a scheme.
    pub(super) const fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Ed25519 => KnownAnswer {
                key: || PreparedKey::ed25519(ED25519_KEY),
                message: ED25519_MESSAGE,
                signature: ED25519_SIGNATURE,
            },
            Scheme::EcdsaP256Sha256 => KnownAnswer {
                key: || PreparedKey::ecdsa_p256(P256_X, P256_Y),
                message: P256_MESSAGE,
                signature: P256_SIGNATURE,
            },
            Scheme::EcdsaP384Sha384 => KnownAnswer {
                key: || PreparedKey::ecdsa_p384(P384_X, P384_Y),
                message: P384_MESSAGE,
                signature: P384_SIGNATURE,
            },
            Scheme::EcdsaP521Sha512 => KnownAnswer {
                key: || PreparedKey::ecdsa_p521(P521_X, P521_Y),
                message: P521_MESSAGE,
                signature: P521_SIGNATURE,
            },
            Scheme::EcdsaSecp256k1Sha256 => KnownAnswer {
                key: || PreparedKey::ecdsa_secp256k1(SECP256K1_X, SECP256K1_Y),
                message: SECP256K1_MESSAGE,
                signature: SECP256K1_SIGNATURE,
            },
            Scheme::RsaPkcs1Sha256 => KnownAnswer {
                key: || PreparedKey::rsa(RS256_MODULUS, F4),
                message: RS256_MESSAGE,
                signature: RS256_SIGNATURE,
            },
            Scheme::RsaPkcs1Sha384 => KnownAnswer {
                key: || PreparedKey::rsa(RS384_MODULUS, F4),
                message: RS256_MESSAGE,
                signature: RS384_SIGNATURE,
            },
            Scheme::RsaPkcs1Sha512 => KnownAnswer {
                key: || PreparedKey::rsa(RS512_MODULUS, F4),
                message: RS256_MESSAGE,
                signature: RS512_SIGNATURE,
            },
            Scheme::RsaPssSha256 => KnownAnswer {
                key: || PreparedKey::rsa(RS256_MODULUS, F4),
                message: RS256_MESSAGE,
                signature: PS256_SIGNATURE,
            },
            Scheme::RsaPssSha384 => KnownAnswer {
                key: || PreparedKey::rsa(RS384_MODULUS, F4),
                message: RS256_MESSAGE,
                signature: PS384_SIGNATURE,
            },
            Scheme::RsaPssSha512 => KnownAnswer {
                key: || PreparedKey::rsa(PS512_MODULUS, F4),
                message: RS256_MESSAGE,
                signature: PS512_SIGNATURE,
            },
            Scheme::HmacSha256 => {
                KnownAnswer { key: || PreparedKey::hmac(&HMAC_SECRET), message: HMAC_MESSAGE, signature: HS256_TAG }
            }
            Scheme::HmacSha384 => {
                KnownAnswer { key: || PreparedKey::hmac(&HMAC_SECRET), message: HMAC_MESSAGE, signature: HS384_TAG }
            }
            Scheme::HmacSha512 => {
                KnownAnswer { key: || PreparedKey::hmac(&HMAC_SECRET), message: HMAC_MESSAGE, signature: HS512_TAG }
            }
        }
    }

    /// Five ways to be wrong that hold for every scheme, and what is special to this one.
    pub(super) fn bad(&self, scheme: Scheme) -> Vec<BadAnswer> {
        let message = self.message.to_vec();
        let signature = self.signature.to_vec();
        let first_bit_of_signature = flip(&signature, 0);
        let last_bit_of_signature = flip(&signature, signature.len() * 8 - 1);
        let last_bit_of_message = flip(&message, message.len() * 8 - 1);
        let mut bad = vec![
            BadAnswer { message: message.clone(), signature: first_bit_of_signature },
            BadAnswer { message: message.clone(), signature: last_bit_of_signature },
            BadAnswer { message: last_bit_of_message, signature: signature.clone() },
            BadAnswer { message: message.clone(), signature: vec![0; signature.len()] },
            BadAnswer { message: message.clone(), signature: signature[..signature.len() - 1].to_vec() },
        ];
        if scheme == Scheme::Ed25519 {
            // S + L satisfies the equation; only the range check refuses it.
            bad.push(BadAnswer { message, signature: plus_group_order(&signature) });
        }
        bad
    }
}

/// `bytes` with one bit changed; bit 0 is the highest of the first byte.
fn flip(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[bit / 8] ^= 0x80 >> (bit % 8);
    changed
}

/// `R || S + L` for an Ed25519 signature `R || S`. `S + L < 2 L < 2^256`, so nothing is carried out.
fn plus_group_order(signature: &[u8]) -> Vec<u8> {
    let mut changed = signature.to_vec();
    let mut carry = 0;
    for (byte, order) in changed[32..].iter_mut().zip(ED25519_GROUP_ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    changed
}

/// Bytes from hexadecimal digits, at compile time.
const fn hex<const N: usize>(digits: &str) -> [u8; N] {
    const fn nibble(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => panic!("not a lower-case hexadecimal digit"),
        }
    }
    let digits = digits.as_bytes();
    assert!(digits.len() == 2 * N, "two digits a byte");
    let mut bytes = [0; N];
    let mut index = 0;
    while index < N {
        bytes[index] = nibble(digits[2 * index]) << 4 | nibble(digits[2 * index + 1]);
        index += 1;
    }
    bytes
}

/// L = 2^252 + 27742317777372353535851937790883648493, little-endian (RFC 8032 section 5.1).
const ED25519_GROUP_ORDER: [u8; 32] = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
/// The RSA exponent of all known answers.
const F4: &[u8] = &[1, 0, 1];
/// RFC 4231 section 4.7, test case 6.
const HMAC_SECRET: [u8; 131] = [0xaa; 131];
/// RFC 4231 section 4.7, test case 6.
const HMAC_MESSAGE: &[u8] = b"Test Using Larger Than Block-Size Key - Hash Key First";
/// RFC 8032 section 7.1, TEST 3.
const ED25519_KEY: &[u8] = &hex::<32>("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
/// RFC 8032 section 7.1, TEST 3.
const ED25519_MESSAGE: &[u8] = &hex::<2>("af82");
/// RFC 8032 section 7.1, TEST 3.
const ED25519_SIGNATURE: &[u8] = &hex::<64>(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c\
         15e9716ed28dc027beceea1ec40a",
);
/// Wycheproof ecdsa_secp256r1_sha256_p1363, tcId 1.
const P256_X: &[u8] = &hex::<32>("2927b10512bae3eddcfe467828128bad2903269919f7086069c8c4df6c732838");
/// Wycheproof ecdsa_secp256r1_sha256_p1363, tcId 1.
const P256_Y: &[u8] = &hex::<32>("c7787964eaac00e5921fb1498a60f4606766b3d9685001558d1a974e7341513e");
/// Wycheproof ecdsa_secp256r1_sha256_p1363, tcId 1.
const P256_MESSAGE: &[u8] = &hex::<6>("313233343030");
/// Wycheproof ecdsa_secp256r1_sha256_p1363, tcId 1.
const P256_SIGNATURE: &[u8] = &hex::<64>(
    "2ba3a8be6b94d5ec80a6d9d1190a436effe50d85a1eee859b8cc6af9bd5c2e184cd60b855d442f5b3c7b11eb6c4e0ae7525f\
         e710fab9aa7c77a67f79e6fadd76",
);
/// Wycheproof ecdsa_secp384r1_sha384_p1363, tcId 1.
const P384_X: &[u8] =
    &hex::<48>("2da57dda1089276a543f9ffdac0bff0d976cad71eb7280e7d9bfd9fee4bdb2f20f47ff888274389772d98cc5752138aa");
/// Wycheproof ecdsa_secp384r1_sha384_p1363, tcId 1.
const P384_Y: &[u8] =
    &hex::<48>("4b6d054d69dcf3e25ec49df870715e34883b1836197d76f8ad962e78f6571bbc7407b0d6091f9e4d88f014274406174f");
/// Wycheproof ecdsa_secp384r1_sha384_p1363, tcId 1.
const P384_MESSAGE: &[u8] = &hex::<6>("313233343030");
/// Wycheproof ecdsa_secp384r1_sha384_p1363, tcId 1.
const P384_SIGNATURE: &[u8] = &hex::<96>(
    "12b30abef6b5476fe6b612ae557c0425661e26b44b1bfe19daf2ca28e3113083ba8e4ae4cc45a0320abd3394f1c548d71840\
         da9fc1d2f8f8900cf485d5413b8c2574ee3a8d4ca03995ca30240e09513805bf6209b58ac7aa9cff54eecd82b9f1",
);
/// Wycheproof ecdsa_secp521r1_sha512_p1363, tcId 1.
const P521_X: &[u8] = &hex::<66>(
    "005c6457ec088d532f482093965ae53ccd07e556ed59e2af945cd8c7a95c1c644f8a56a8a8a3cd77392ddd861e8a924dac99\
         c69069093bd52a52fa6c56004a074508",
);
/// Wycheproof ecdsa_secp521r1_sha512_p1363, tcId 1.
const P521_Y: &[u8] = &hex::<66>(
    "007878d6d42e4b4dd1e9c0696cb3e19f63033c3db4e60d473259b3ebe079aaf0a986ee6177f8217a78c68b813f7e149a4e56\
         fd9562c07fed3d895942d7d101cb83f6",
);
/// Wycheproof ecdsa_secp521r1_sha512_p1363, tcId 1.
const P521_MESSAGE: &[u8] = &hex::<6>("313233343030");
/// Wycheproof ecdsa_secp521r1_sha512_p1363, tcId 1.
const P521_SIGNATURE: &[u8] = &hex::<132>(
    "004e4223ee43e8cb89de3b1339ffc279e582f82c7ab0f71bbde43dbe374ac75ffbef29acdf8e70750b9a04f66fda48351de7\
         bbfd515720b0ec5cd736f9b73bdf864501d74a2f6d95be8d4cb64f02d16d6b785a1246b4ebd206dc596818bb953253245f5a\
         27a24a1aae1e218fdccd8cd7d4990b666d4bf4902b84fdad123f941fe906d948",
);
/// Wycheproof ecdsa_secp256k1_sha256_p1363, tcId 1.
const SECP256K1_X: &[u8] = &hex::<32>("b838ff44e5bc177bf21189d0766082fc9d843226887fc9760371100b7ee20a6f");
/// Wycheproof ecdsa_secp256k1_sha256_p1363, tcId 1.
const SECP256K1_Y: &[u8] = &hex::<32>("f0c9d75bfba7b31a6bca1974496eeb56de357071955d83c4b1badaa0b21832e9");
/// Wycheproof ecdsa_secp256k1_sha256_p1363, tcId 1.
const SECP256K1_MESSAGE: &[u8] = &hex::<6>("313233343030");
/// Wycheproof ecdsa_secp256k1_sha256_p1363, tcId 1.
const SECP256K1_SIGNATURE: &[u8] = &hex::<64>(
    "813ef79ccefa9a56f7ba805f0e478584fe5f0dd5f567bc09b5123ccbc9832365900e75ad233fcc908509dbff5922647db37c\
         21f4afd3203ae8dc4ae7794b0f87",
);
/// Wycheproof rsa_signature_2048_sha256, tcId 2.
const RS256_MODULUS: &[u8] = &hex::<256>(
    "a2b451a07d0aa5f96e455671513550514a8a5b462ebef717094fa1fee82224e637f9746d3f7cafd31878d80325b6ef5a1700\
         f65903b469429e89d6eac8845097b5ab393189db92512ed8a7711a1253facd20f79c15e8247f3d3e42e46e48c98e254a2fe9\
         765313a03eff8f17e1a029397a1fa26a8dce26f490ed81299615d9814c22da610428e09c7d9658594266f5c021d0fceca08d\
         945a12be82de4d1ece6b4c03145b5d3495d4ed5411eb878daf05fd7afc3e09ada0f1126422f590975a1969816f48698bcbba\
         1b4d9cae79d460d8f9f85e7975005d9bc22c4e5ac0f7c1a45d12569a62807d3b9a02e5a530e773066f453d1f5b4c2e9cf782\
         0283f742b9d5",
);
/// Wycheproof rsa_signature_2048_sha256, tcId 2.
const RS256_MESSAGE: &[u8] = &hex::<20>("0000000000000000000000000000000000000000");
/// Wycheproof rsa_signature_2048_sha256, tcId 2.
const RS256_SIGNATURE: &[u8] = &hex::<256>(
    "8a1b220cb2ab415dc760eb7f5bb10335a3cca269d7dbbf7d0962ba79f9cf7b43a5fc09c99a1584f07403473d6c189a836897\
         a5b6f8ea9fa22d601e6ba5f7411fe27c638b81b1a22363583a80fce8c7df3e40fb51bd0e60d0a6653f79f3bcb7ec3e9dc14c\
         fb5b31ab1735bca692d50ac03f979dda92747c6430f8045efa3513ba6e0ce3e9e35570e1c30c8ebe589b44192e1344ca83df\
         a576fc6fdc7bf1cd7cee875b001c8c02ce8d602769e4bd9d241c4857182a0089a8b67644e73eef105c550efa47a408742893\
         95ac0c4e02fd4ba98e130a4c2d1b95521c6af4a002ac3bdc6e52122ae4c08cc3da1c896e059acbddec574ac0432f6103dd97\
         273d8803c102",
);
/// Wycheproof rsa_signature_2048_sha384, tcId 2.
const RS384_MODULUS: &[u8] = &hex::<256>(
    "cda6fa5ca76bfe0492ec57e0a3bfff7272dc8d1e25ad1fb338aa050f02c104e63133d6b5b7c4985ebbae9ac036a5b9c03074\
         d60aec8e25baf392a0c430ff05b88e948805d3dd74511d8885250a7b574215ada015c559076686e253ccc96c0815b1291ee7\
         87cc3363b4f77d930eb998d7c582b24cea9ce21de9722791989863a27ebc80a00de5bd2f9228775e5a4ceb054d58c9be36a0\
         54336971a13642dd9510dd696aa268db3aab2299d5d88f8e562434d1427094d3df8e72d1ef69b4ed34d12bac375223b2a25c\
         f227f735f816e85e17239304769a6082154cd15899fc1eaefb69b748a3e5ed24d38372597de3e4e2a27b951d6ac7db182d68\
         09d8ff511b7f",
);
/// Wycheproof rsa_signature_2048_sha384, tcId 2.
const RS384_SIGNATURE: &[u8] = &hex::<256>(
    "0e8742af2a1d82e99038a99a09bc182e21317b690004fcf8fac5a4b39c6c4c6f32ee0395a42b8aee31a7af7cc0b0205087b4\
         cbe18e791c1d5454faa5dc220d3b21e44822d39beefa5e90654fae46205631c4691d3e78221f48edc14e342ad42dbeccfede\
         07420b9352af9e0a009c49cac2b4564732d94495457dcbd2f67fb60fd77080631cf38b784a3373b66cc2d1ae971a7422562c\
         2df5f2476983263f6559a8fed69c2c76806f8553b5f1f2239677f1a4a3f5f55a00f8391174fabd2852503c9dc130ba219d14\
         5709a4f045bf62b2278d1c9c5c2e7a81f47769b2a11b18bb8648a32eb984ff7aeed9c0ee1023886e6a402812ae6552b03419\
         b4da25cbf3bb",
);
/// Wycheproof rsa_signature_2048_sha512, tcId 2.
const RS512_MODULUS: &[u8] = &hex::<256>(
    "c2c4a860236d3c9096a076d6ba5107e0f7bd81e1ba916f7375724bd2b0b0b63956813715a3457ab0458b71fb35a45b27f9ef\
         7ac3e579dea45dfbfd07819ed6b7021aa5336c58442aadd96ca9ee9d32473e9d9278562b4d10258ade6a98fb1c7cfdc3b371\
         6ef5dec58cf73b359f389599b4b5865a9863519eb001c324387da755450db341309360e3807c0565b8e2c44fbd5e6e8d04d0\
         06d7ee768b8e8436082a90fa0e837f32f46087ab4a0d9be28aa7da1794ceb0172a7f50ed20f6df641efbcbfd2aac89775c76\
         1a7310093c671c977fa18b0d6e01fb25f7a432b42c65359784c689205719c1cf6e3a65dae2da434c326dde81bb6ffffbdbf6\
         de5c16bba749",
);
/// Wycheproof rsa_signature_2048_sha512, tcId 2.
const RS512_SIGNATURE: &[u8] = &hex::<256>(
    "4de4dbf82607b36a5c6778ae6351d83b7ef5b4af64c3788889eb10ef1838822847ceb531914392360b92dee055796f73e3cd\
         b8b3d50910a537dd2244fd7f922780356ea3f01e99e5bebcb1b6ef398d2399bd02472a871417daec3bbe6f89f45f1af0bf81\
         9a446dcbbb75c56958d34ba27c8120cee6ff97242921ccf58de9216995fa0c49cb3e6d60e46411b2df3b01b78fa81ca145ce\
         8be594ee009031eda672eb097ba5ed6687a703b154ef616757f94237f4275f54738cb59d36b20a9c84ae133bd715747952f0\
         222573a91faf740e4b7eb4e88abaa91004e72a1709b401616b2edb2784e491f671fcf5ebe326b669facaa5d8a0f6f8469ea9\
         95c4db772f06",
);
/// Wycheproof rsa_pss_2048_sha256_mgf1_32, tcId 2.
const PS256_SIGNATURE: &[u8] = &hex::<256>(
    "0658c68fe0895646056d9bca422a64fe48813b4e14f0c8c4122e56d345b6813dc6286ffde014617e351c7af0a0d2c0f285de\
         f79cb734e1e055a25fa6fddc1c07da17b4b235c637413b1849c24311fa72331f4c0458c364a4916de8619b884d7e37288fad\
         12926fc091f4851686a04fd0a504dbce3db370663a6ea6128fea86c2ca94c63e0d34d7f2c845b5d71d9a5e544451f524a451\
         acb85c49bba7864e0a34a48613a819caf3dfd0d510c940f1df21c3373915be1f3509a557fa4d5a4e9f273e85467961133e24\
         82c0907386454228fb0246638616fc31bbb6fa7c2361b8035994eec69a923f4c0bb0ba8696dfe8b1400c2398d7b343fdf498\
         b1116c8de602",
);
/// Wycheproof rsa_pss_2048_sha384_mgf1_48, tcId 2.
const PS384_SIGNATURE: &[u8] = &hex::<256>(
    "9b45517f6149764531b362d7c6b6261b77fc37ae0b97bc392ba27ecb9bbb0d2db931cd7118c86727202333558fcdbf844645\
         95b31b28a526bf7df2582f40035ab5e1c3896337ac20f137568a52f0b64bc544531f00791a4593ed2182b82bd71366cbfb6c\
         dc107c79fca7c3aae679e98e75b40b2034d9375ebf750b3153a97d829bfd5aa39c29246bae601c131238275503faa532f0ee\
         75492b7d7b5b4f55d7be619f269d80a3feb414aeb1f36487b0e46b870d4756f98cfa50d6834a7cdcb23890821416cf0c8e82\
         f688aa8e46ef8e3179e5ecd3cf157a8caaa70b0f4074294746e41b906d0ce85e6f2485cacb71bd63bb365eed5e91c9af4589\
         d74b3f9487c6",
);
/// Wycheproof rsa_pss_4096_sha512_mgf1_64, tcId 2.
const PS512_MODULUS: &[u8] = &hex::<512>(
    "c9a765c2661b4674cff3480e9a5e462ad0ad2fc9bc6fbef62847b3113d20991f653967971c28252753f5fbacce012c2a8ab5\
         92914d269efafa724fa4b920e340930c106f7b36f79cebf0e62e88e0e476888e9f0e22186acdb6c4523a232b65b4ff2cc22d\
         c44f8a559527d79d7cd7dcf3773212f7bb9aa133c31165cc663690bf123d73923c838929ccafee59d6c7095b8d4a74baf2d1\
         92c9a4e87c4e12bc58013078b28a7789e82e9f31de1f4d6a2aa6e80632be8e4bdf263e8d49b09416fb19c488c07ad8af722a\
         b79182b23028a71e065d02412a9eebc46d7d8f4e03d79238d8c0cb4a97a9a1200ebb6ec64042ebeccad9567526eeef12c17d\
         94c1049c889970b96e94cc353172a268a49c5e8bee13c15b39dec44f2c7a1aa37a7a0b6f72290acada32b1d8af1fc3dc8a89\
         487ba81347cbeb1350925d30f923958106b49959c871e7c1dba55da0772e362cf8621d78610868b894e16e5dfec96874a93a\
         4cf379b47e7e318ce315066d70ee3938140a60148f205085cef8a7700ca3c53d52a5756a63b3b16f153062b61262a6849621\
         0c8be4ef3f9029ca0ea0e3b3a0d5d6d226edbbf44daf8f045dc286ded3c4ec4db6b45347079f33eaf98e3c95b4b60e79ef4a\
         3093feec543703422ba74a118511c2193b54fe8b633866ed2c705ccbc6e7d9d3656809ec3d3356e7400a9648ec37505041e3\
         e31af1c02eefe924a67047d3",
);
/// Wycheproof rsa_pss_4096_sha512_mgf1_64, tcId 2.
const PS512_SIGNATURE: &[u8] = &hex::<512>(
    "04a2259529e5888fd870d7e0517aa5b1bc05e19da400d6de1b8e676f44d6cffdb5c3be40474f143985730b9f17eefad25be1\
         36c4e4294a06b6a2a1d7c4d6ba2b43227149a62e2828d8c7771d3fddc0aef36187e3722079480aca9f1c42fc35a419312163\
         5b1832f2b9fdb1dd150929a85a35ff12dfb86725c82c1d8fd71cc2f5dec3f7373e8732891e3a978e4c15a4e75eb49f1c99bb\
         732ce587d39ad4bdde62f4b6dbffcf6952114d3bf33ad58a74e3c12b222238b51016932908aa80016f87fef465c9c512ff70\
         9be093e34ed47140df34fb15a4f8f629de00c383c6599fb51e0f8c2ab5d4d3faf526a749f34291dabbfe15df9deba84d8897\
         2436906035b3d0e8dc6a8ab9d9002df3aa105f6e3a595bc66d0f64c760d7c152b8cdbb8e0a9afe87c36d6bad63fa017f540f\
         f1e67d5d89deab1413016ec259a4bc19d8c2502576fbcb49b1ea1aa84163ea1e3f8bb9b159acbcdeb2395d6531497889917c\
         1c822456019f71818dc498b9e3517cd68f4eea6b24364ee651bdbf3282ab1f55e67bef8f8b61f749e30b3dcebbcaa21531ec\
         c7729b8c93f03732f81367bf545f1d53717aa056aaa08a0434e29ddad76956a5a641b45b9946bc756106fca8e76e3885da15\
         aaae065deba95c1e503c996fff8400e286ea3a3b40e0d7b03652729cea3562d8a90c9ea9c65b4de3dcc013282e3da8c7de21\
         88c3c4c9b9e42145165292fc",
);
/// RFC 4231 section 4.7, test case 6.
const HS256_TAG: &[u8] = &hex::<32>("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
/// RFC 4231 section 4.7, test case 6.
const HS384_TAG: &[u8] =
    &hex::<48>("4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952");
/// RFC 4231 section 4.7, test case 6.
const HS512_TAG: &[u8] = &hex::<64>(
    "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e6\
         4f73f63f0aec8b915a985d786598",
);
