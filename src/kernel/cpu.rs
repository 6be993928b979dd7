//! What this CPU and operating system offer. The only place that asks the CPU: kernels open on the answer of
//! [`has`], and `verilane cpu` shows [`features`].
//!
//! Detection is the standard library's, which counts a feature only if the operating system saves the registers it
//! needs (`XCR0` on x86-64). `VERILANE_CPU_DISABLE` takes features away for tests and for rollback; nothing adds one.

use std::sync::OnceLock;

/// The environment variable that hides CPU features: names as [`Feature::name`] has them, separated by commas. A
/// hidden feature also hides those that build on it (`avx2` hides all of AVX-512). Read once, at the first question.
pub const DISABLE_VARIABLE: &str = "VERILANE_CPU_DISABLE";

/// One CPU feature that a kernel may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name as the Rust compiler and this module's [`DISABLE_VARIABLE`] spell it.
    pub name: &'static str,
    /// Whether kernels may use it: the CPU has it, the operating system supports it and nothing hides it.
    pub present: bool,
    /// What a person should know: what it is for, or why it is absent.
    pub note: &'static str,
}

/// One line of the table: what it is called, what it builds on, whether the CPU has it, what it is for.
struct Probe {
    name: &'static str,
    base: Option<&'static str>,
    detect: fn() -> bool,
    purpose: &'static str,
}

/// Every feature that kernels of this architecture may ask for, those they build on first.
#[must_use]
pub fn features() -> &'static [Feature] {
    &detected().features
}

/// Whether kernels may use the feature of that name. False for names that [`features`] does not list.
#[must_use]
pub fn has(name: &str) -> bool {
    features().iter().any(|feature| feature.name == name && feature.present)
}

/// Names in [`DISABLE_VARIABLE`] that are no feature of this architecture: most likely misspelt, so worth a warning.
#[must_use]
pub fn unknown_disabled() -> &'static [String] {
    &detected().unknown_disabled
}

/// The CPU's own name of itself, where the architecture has one.
#[must_use]
pub fn brand() -> Option<&'static str> {
    detected().brand.as_deref()
}

/// The architecture this program was built for, as Rust names it: `x86_64`, `aarch64`.
#[must_use]
pub const fn architecture() -> &'static str {
    std::env::consts::ARCH
}

/// Proof that this CPU has what the AVX-512 IFMA kernels are compiled for ([`HaveAvx512::NEEDS`]). Made only here, so
/// whoever holds one may run code that enables these features.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct HaveAvx512(());

#[cfg(target_arch = "x86_64")]
impl HaveAvx512 {
    /// What the CPU and operating system must offer, as a person reads it.
    pub(in crate::kernel) const NEEDS: &'static str = "AVX-512 F, BW, DQ, VL, VBMI2 and IFMA";

    /// The features behind [`Self::NEEDS`]. Every `#[target_feature]` list of these kernels is a subset of it.
    const FEATURES: [&'static str; 6] = ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi2", "avx512ifma"];

    /// The proof, if every feature is present and none is hidden.
    pub(in crate::kernel) fn detect() -> Option<Self> {
        Self::FEATURES.iter().all(|name| has(name)).then_some(Self(()))
    }
}

struct Detected {
    features: Vec<Feature>,
    unknown_disabled: Vec<String>,
    brand: Option<String>,
}

fn detected() -> &'static Detected {
    static DETECTED: OnceLock<Detected> = OnceLock::new();
    DETECTED.get_or_init(|| {
        let list = std::env::var_os(DISABLE_VARIABLE).unwrap_or_default();
        let disabled = parse_list(&list.to_string_lossy());
        Detected {
            features: judge(PROBES, &disabled),
            unknown_disabled: disabled
                .iter()
                .filter(|name| PROBES.iter().all(|probe| probe.name != name.as_str()))
                .cloned()
                .collect(),
            brand: read_brand(),
        }
    })
}

fn parse_list(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect()
}

/// Goes down the table. A base stands before what builds on it, so one pass is enough.
fn judge(probes: &[Probe], disabled: &[String]) -> Vec<Feature> {
    let mut features: Vec<Feature> = Vec::with_capacity(probes.len());
    for probe in probes {
        let base_absent =
            probe.base.is_some_and(|base| !features.iter().any(|feature| feature.name == base && feature.present));
        let (present, note) = if !(probe.detect)() {
            (false, "the CPU or the operating system does not offer it")
        } else if disabled.iter().any(|name| name == probe.name) {
            (false, "hidden by VERILANE_CPU_DISABLE")
        } else if base_absent {
            (false, "hidden, as it builds on a feature that is absent or hidden")
        } else {
            (true, probe.purpose)
        };
        features.push(Feature { name: probe.name, present, note });
    }
    features
}

/// Lines of the table; detection wants the name as a literal.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! probes {
    ($detect:ident; $($name:tt on $base:expr => $purpose:literal,)*) => {
        &[$(Probe { name: $name, base: $base, detect: || $detect!($name), purpose: $purpose }),*]
    };
}

#[cfg(target_arch = "x86_64")]
const PROBES: &[Probe] = probes! { is_x86_feature_detected;
    "sse2" on None => "128-bit vectors, part of every x86-64",
    "ssse3" on Some("sse2") => "byte shuffles",
    "sse4.1" on Some("ssse3") => "blends and extracts that SHA-NI kernels use",
    "sse4.2" on Some("sse4.1") => "64-bit compares",
    "pclmulqdq" on Some("sse2") => "carry-less multiplication",
    "aes" on Some("sse2") => "AES rounds",
    "sha" on Some("sse2") => "SHA-256 rounds, for hashes of few messages",
    "bmi2" on None => "mulx, for scalar big-number code",
    "adx" on None => "two carry chains, for scalar big-number code",
    "avx" on Some("sse4.2") => "256-bit registers",
    "avx2" on Some("avx") => "256-bit integers: 8 lanes of 32 bits or 4 of 64",
    "gfni" on Some("sse2") => "bit matrices on bytes",
    "vaes" on Some("avx2") => "AES rounds on wide registers",
    "vpclmulqdq" on Some("avx") => "carry-less multiplication on wide registers",
    "sha512" on Some("avx2") => "SHA-512 rounds",
    "avxifma" on Some("avx2") => "52-bit multiply-add on 4 lanes",
    "avx512f" on Some("avx2") => "512-bit registers and masks: 16 lanes of 32 bits or 8 of 64",
    "avx512cd" on Some("avx512f") => "leading zeros",
    "avx512dq" on Some("avx512f") => "64-bit multiplication, mask moves",
    "avx512bw" on Some("avx512f") => "bytes and words",
    "avx512vl" on Some("avx512f") => "masks and new instructions on narrower registers",
    "avx512ifma" on Some("avx512f") => "52-bit multiply-add on 8 lanes, the engine of the signature kernels",
    "avx512vbmi" on Some("avx512bw") => "byte permutations across a register",
    "avx512vbmi2" on Some("avx512bw") => "byte compress and expand",
    "avx512vpopcntdq" on Some("avx512f") => "population counts",
    "avx512bitalg" on Some("avx512bw") => "population counts on bytes",
    "avx512vnni" on Some("avx512f") => "dot products of bytes",
};

#[cfg(target_arch = "aarch64")]
use std::arch::is_aarch64_feature_detected;

#[cfg(target_arch = "aarch64")]
const PROBES: &[Probe] = probes! { is_aarch64_feature_detected;
    "neon" on None => "128-bit vectors",
    "aes" on Some("neon") => "AES rounds and carry-less multiplication",
    "sha2" on Some("neon") => "SHA-256 rounds",
    "sha3" on Some("sha2") => "SHA-512 and SHA-3 rounds",
    "sve" on Some("neon") => "vectors of the CPU's own width",
    "sve2" on Some("sve") => "integer work on such vectors",
};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const PROBES: &[Probe] = &[];

/// CPUID leaves 0x80000002 to 0x80000004: 48 bytes of text, padded with NUL and spaces.
#[cfg(target_arch = "x86_64")]
fn read_brand() -> Option<String> {
    use std::arch::x86_64::__cpuid;

    const FIRST: u32 = 0x8000_0002;
    const LAST: u32 = 0x8000_0004;
    if __cpuid(0x8000_0000).eax < LAST {
        return None;
    }
    let registers = (FIRST..=LAST).map(__cpuid).flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]);
    let bytes: Vec<u8> = registers.flat_map(u32::to_le_bytes).take_while(|&byte| byte != 0).collect();
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(not(target_arch = "x86_64"))]
fn read_brand() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Probe] = &[
        Probe { name: "small", base: None, detect: || true, purpose: "fits" },
        Probe { name: "wide", base: Some("small"), detect: || true, purpose: "fits" },
        Probe { name: "wider", base: Some("wide"), detect: || true, purpose: "fits" },
        Probe { name: "other", base: Some("small"), detect: || true, purpose: "fits" },
        Probe { name: "lacking", base: Some("small"), detect: || false, purpose: "fits" },
    ];

    #[test]
    fn disabling_hides_a_feature_and_what_builds_on_it_and_never_adds_one() {
        let cases: [(&str, &[&str]); 6] = [
            ("", &["small", "wide", "wider", "other"]),
            ("wider", &["small", "wide", "other"]),
            ("wide", &["small", "other"]),
            (" WIDE ,,other", &["small"]),
            ("small", &[]),
            ("lacking,unheard-of", &["small", "wide", "wider", "other"]),
        ];
        for (list, want) in cases {
            let features = judge(TABLE, &parse_list(list));
            let present: Vec<&str> = features.iter().filter(|feature| feature.present).map(|f| f.name).collect();
            assert_eq!(present, want, "{list:?}");
        }
    }

    #[test]
    fn a_base_stands_before_what_builds_on_it() {
        for (index, probe) in PROBES.iter().enumerate() {
            if let Some(base) = probe.base {
                assert!(PROBES[..index].iter().any(|earlier| earlier.name == base), "{} on {base}", probe.name);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn every_x86_64_has_sse2() {
        let sse2 = PROBES.iter().find(|probe| probe.name == "sse2").unwrap();
        assert!((sse2.detect)());
    }
}
