//! ECDSA and RSA straight from the standards, on plain big integers: slow, obvious, and independent of the libraries
//! that kernels stand on. The ECDSA signer takes any private scalar and any nonce.

use num_bigint::BigUint;
use sha2::{Digest, Sha256, Sha384, Sha512};
use verilane::kernel::Scheme;

/// The hash of a scheme.
pub fn hash(scheme: Scheme, data: &[u8]) -> Vec<u8> {
    match scheme {
        Scheme::EcdsaP256Sha256
        | Scheme::EcdsaSecp256k1Sha256
        | Scheme::RsaPkcs1Sha256
        | Scheme::RsaPssSha256
        | Scheme::HmacSha256 => Sha256::digest(data).to_vec(),
        Scheme::EcdsaP384Sha384 | Scheme::RsaPkcs1Sha384 | Scheme::RsaPssSha384 | Scheme::HmacSha384 => {
            Sha384::digest(data).to_vec()
        }
        Scheme::Ed25519
        | Scheme::EcdsaP521Sha512
        | Scheme::RsaPkcs1Sha512
        | Scheme::RsaPssSha512
        | Scheme::HmacSha512 => Sha512::digest(data).to_vec(),
    }
}

fn number(hex: &str) -> BigUint {
    BigUint::parse_bytes(hex.as_bytes(), 16).unwrap()
}

/// Big-endian bytes of exactly `len`, or `None` if the number is longer.
pub fn to_bytes(number: &BigUint, len: usize) -> Option<Vec<u8>> {
    let digits = number.to_bytes_be();
    let zeros = len.checked_sub(digits.len())?;
    Some([vec![0; zeros], digits].concat())
}

/// An affine point, or `None` at infinity.
pub type Point = Option<(BigUint, BigUint)>;

/// `(X, Y, Z)` for the point `(X/Z², Y/Z³)`, or `None` at infinity.
type Jacobian = Option<(BigUint, BigUint, BigUint)>;

/// A short Weierstrass curve `y² = x³ + ax + b` (SP 800-186 section 3.2.1, SEC 2 section 2.4.1).
pub struct Curve {
    scheme: Scheme,
    p: BigUint,
    a: BigUint,
    /// Order of the base point.
    pub n: BigUint,
    g: (BigUint, BigUint),
    /// Bytes of a coordinate and of a scalar.
    pub len: usize,
}

impl Curve {
    /// The curve of an ECDSA scheme.
    pub fn of(scheme: Scheme) -> Self {
        let (p, minus_a, n, x, y, len) = match scheme {
            Scheme::EcdsaP256Sha256 => (
                "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
                3u8,
                "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
                "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
                "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
                32,
            ),
            Scheme::EcdsaP384Sha384 => (
                "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
                3,
                "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
                "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
                "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
                48,
            ),
            Scheme::EcdsaP521Sha512 => (
                "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
                 ffffffffffffffffffffffffffffffffffffffff",
                3,
                "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148\
                 f709a5d03bb5c9b8899c47aebb6fb71e91386409",
                "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127\
                 a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
                "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b901\
                 3fad0761353c7086a272c24088be94769fd16650",
                66,
            ),
            Scheme::EcdsaSecp256k1Sha256 => (
                "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f",
                0,
                "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
                "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
                "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8",
                32,
            ),
            _ => panic!("{scheme} is not ECDSA"),
        };
        let p = number(p);
        let a = (&p - minus_a) % &p;
        Self { scheme, a, n: number(n), g: (number(x), number(y)), len, p }
    }

    /// The base point.
    pub fn base(&self) -> Point {
        Some(self.g.clone())
    }

    /// `scalar` times `point`.
    pub fn multiply(&self, scalar: &BigUint, point: &Point) -> Point {
        self.multiply_two((scalar, point), (&BigUint::ZERO, &None))
    }

    /// The sum of two multiples, doublings shared.
    fn multiply_two(&self, first: (&BigUint, &Point), second: (&BigUint, &Point)) -> Point {
        let both = self.to_affine(self.add(self.add(None, first.1), second.1));
        let mut sum = None;
        for bit in (0..first.0.bits().max(second.0.bits())).rev() {
            sum = self.double(sum);
            match (first.0.bit(bit), second.0.bit(bit)) {
                (true, true) => sum = self.add(sum, &both),
                (true, false) => sum = self.add(sum, first.1),
                (false, true) => sum = self.add(sum, second.1),
                (false, false) => {}
            }
        }
        self.to_affine(sum)
    }

    fn double(&self, point: Jacobian) -> Jacobian {
        let p = &self.p;
        let (x, y, z) = point?;
        if y == BigUint::ZERO {
            return None;
        }
        let yy = &y * &y % p;
        let s = &x * &yy * 4u8 % p;
        let zz = &z * &z % p;
        let m = (&x * &x * 3u8 + &self.a * (&zz * &zz % p)) % p;
        let x3 = (&m * &m + (p - &s) * 2u8) % p;
        let y3 = (m * (p + s - &x3) + (p - &yy * &yy * 8u8 % p)) % p;
        Some((x3, y3, y * z * 2u8 % p))
    }

    fn add(&self, left: Jacobian, right: &Point) -> Jacobian {
        let p = &self.p;
        let Some((x2, y2)) = right else { return left };
        let Some((x1, y1, z1)) = left else { return Some((x2.clone(), y2.clone(), BigUint::from(1u8))) };
        let zz = &z1 * &z1 % p;
        let h = (x2 * &zz + p - &x1) % p;
        let r = (y2 * (zz * &z1 % p) + p - &y1) % p;
        if h == BigUint::ZERO {
            return if r == BigUint::ZERO { self.double(Some((x1, y1, z1))) } else { None };
        }
        let hh = &h * &h % p;
        let hhh = &hh * &h % p;
        let v = x1 * hh % p;
        let x3 = (&r * &r + (p - &hhh) + (p - &v) * 2u8) % p;
        let y3 = (r * (p + v - &x3) + (p - y1 * hhh % p)) % p;
        Some((x3, y3, z1 * h % p))
    }

    fn to_affine(&self, point: Jacobian) -> Point {
        let (x, y, z) = point?;
        let inverse = z.modinv(&self.p).expect("not zero modulo a prime");
        let square = &inverse * &inverse % &self.p;
        let cube = &square * inverse % &self.p;
        Some((x * square % &self.p, y * cube % &self.p))
    }

    /// The hash as a number. No hash of ours is longer than its curve's order, so nothing is cut off.
    pub fn hash(&self, message: &[u8]) -> BigUint {
        BigUint::from_bytes_be(&hash(self.scheme, message))
    }

    pub fn inverse(&self, scalar: &BigUint) -> BigUint {
        scalar.modinv(&self.n).expect("not zero modulo a prime")
    }

    /// FIPS 186-5 section 6.4.1 with the nonce given. `None` if r or s comes out as zero.
    pub fn sign(&self, secret: &BigUint, nonce: &BigUint, message: &[u8]) -> Option<(BigUint, BigUint)> {
        let r = self.multiply(nonce, &self.base())?.0 % &self.n;
        let s = (self.hash(message) + &r * secret) * self.inverse(nonce) % &self.n;
        (r != BigUint::ZERO && s != BigUint::ZERO).then_some((r, s))
    }

    /// FIPS 186-5 section 6.4.2; the signature is `r || s`.
    pub fn verify(&self, x: &[u8], y: &[u8], message: &[u8], signature: &[u8]) -> bool {
        if signature.len() != 2 * self.len {
            return false;
        }
        let (r, s) = signature.split_at(self.len);
        let (r, s) = (BigUint::from_bytes_be(r), BigUint::from_bytes_be(s));
        if r == BigUint::ZERO || r >= self.n || s == BigUint::ZERO || s >= self.n {
            return false;
        }
        let inverse = self.inverse(&s);
        let u1 = self.hash(message) * &inverse % &self.n;
        let u2 = &r * inverse % &self.n;
        let key = Some((BigUint::from_bytes_be(x), BigUint::from_bytes_be(y)));
        let sum = self.multiply_two((&u1, &self.base()), (&u2, &key));
        sum.is_some_and(|(x, _)| x % &self.n == r)
    }
}

/// RFC 8017 sections 8.1.2 and 8.2.2, with the salt as long as the hash.
pub fn rsa_verify(scheme: Scheme, modulus: &[u8], exponent: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let n = BigUint::from_bytes_be(modulus);
    let s = BigUint::from_bytes_be(signature);
    if signature.len() != modulus.len() || s >= n {
        return false;
    }
    let m = s.modpow(&BigUint::from_bytes_be(exponent), &n);
    let digest = hash(scheme, message);
    // RFC 8017 section 9.2, note 1.
    let digest_info = match scheme {
        Scheme::RsaPkcs1Sha256 => "3031300d060960864801650304020105000420",
        Scheme::RsaPkcs1Sha384 => "3041300d060960864801650304020205000430",
        Scheme::RsaPkcs1Sha512 => "3051300d060960864801650304020305000440",
        _ => {
            let bits = usize::try_from(n.bits()).unwrap() - 1;
            return to_bytes(&m, bits.div_ceil(8)).is_some_and(|encoded| pss_verify(scheme, &digest, &encoded, bits));
        }
    };
    let digest_info = number(digest_info).to_bytes_be();
    let fill = vec![0xff; modulus.len() - 3 - digest_info.len() - digest.len()];
    to_bytes(&m, modulus.len()) == Some([vec![0, 1], fill, vec![0], digest_info, digest].concat())
}

/// RFC 8017 section 9.1.2.
fn pss_verify(scheme: Scheme, digest: &[u8], encoded: &[u8], bits: usize) -> bool {
    let hash_len = digest.len();
    let Some(db_len) = encoded.len().checked_sub(hash_len + 1) else { return false };
    if db_len < hash_len + 1 || encoded.last() != Some(&0xbc) {
        return false;
    }
    let (masked, rest) = encoded.split_at(db_len);
    let h = &rest[..hash_len];
    let unused = 8 * encoded.len() - bits;
    if u16::from(masked[0]) >> (8 - unused) != 0 {
        return false;
    }
    // MGF1, appendix B.2.1.
    let mask = (0u32..).flat_map(|counter| hash(scheme, &[h, &counter.to_be_bytes()].concat()));
    let mut db: Vec<u8> = masked.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    db[0] &= 0xff >> unused;
    let (padding, salt) = db.split_at(db_len - hash_len);
    let (one, zeros) = padding.split_last().expect("at least one byte");
    *one == 1 && zeros.iter().all(|byte| *byte == 0) && hash(scheme, &[&[0; 8], digest, salt].concat()) == h
}

#[test]
fn the_order_times_the_base_point_is_infinity() {
    for scheme in
        [Scheme::EcdsaP256Sha256, Scheme::EcdsaP384Sha384, Scheme::EcdsaP521Sha512, Scheme::EcdsaSecp256k1Sha256]
    {
        let curve = Curve::of(scheme);
        assert_eq!(curve.multiply(&curve.n, &curve.base()), None, "{scheme}");
        assert_eq!(curve.multiply(&(&curve.n + 1u8), &curve.base()), curve.base(), "{scheme}");
    }
}
