//! The registry of kernels and the choice among them. The choice is made once, at start, from what the CPU has and
//! from what the configuration forces; forcing can only pick an entry that opens on this CPU.

use std::collections::BTreeSet;

use super::{Kernel, Scheme, ecdsa_p256, ecdsa_p384, ecdsa_p521, ecdsa_secp256k1, ed25519, hmac, rsa};

/// One line of the registry.
#[derive(Debug)]
pub struct Entry {
    /// What it checks.
    pub scheme: Scheme,
    /// The instruction-set side of the name: `portable`, `x86_sha_ni`, `avx512_ifma`.
    pub backend: &'static str,
    /// What the CPU must have, as a person reads it; empty for `portable`.
    pub needs: &'static str,
    /// The kernel, if this CPU has what it needs.
    pub open: fn() -> Option<&'static dyn Kernel>,
}

impl Entry {
    /// `scheme/backend`, the kernel's full name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.scheme.name(), self.backend)
    }
}

/// Families of entries.
type Registry = &'static [&'static [Entry]];

/// One line a family. Inside a scheme the fastest entry comes first, the portable one last.
pub static REGISTRY: &[&[Entry]] = &[
    ed25519::ENTRIES,
    ecdsa_p256::ENTRIES,
    ecdsa_p384::ENTRIES,
    ecdsa_p521::ENTRIES,
    ecdsa_secp256k1::ENTRIES,
    rsa::ENTRIES,
    hmac::ENTRIES,
];

/// The entries of a scheme, best first.
pub fn entries(scheme: Scheme) -> impl Iterator<Item = &'static Entry> {
    entries_of(REGISTRY, scheme)
}

/// The kernels of a scheme that this CPU can run, best first.
pub fn available(scheme: Scheme) -> impl Iterator<Item = (&'static Entry, &'static dyn Kernel)> {
    entries(scheme).filter_map(|entry| Some((entry, (entry.open)()?)))
}

fn entries_of(registry: Registry, scheme: Scheme) -> impl Iterator<Item = &'static Entry> {
    registry.iter().flat_map(|family| family.iter()).filter(move |entry| entry.scheme == scheme)
}

/// The kernel chosen for every scheme. Cheap to clone: the entries are static.
#[derive(Clone, Debug)]
pub struct KernelTable {
    chosen: [Selection; Scheme::COUNT],
}

/// What was chosen for one scheme.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// The backend's name; `null` for a kernel put in by a test or bench.
    pub backend: &'static str,
    /// The kernel itself.
    pub kernel: &'static dyn Kernel,
    /// Whether the configuration named it.
    pub forced: bool,
}

/// Why a forced selection cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The name is not `scheme/backend` or `backend` of any entry.
    #[error("no kernel is named `{name}`; known: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The kernel exists, this CPU cannot run it.
    #[error("kernel `{name}` needs {needs}, which this CPU or operating system does not offer")]
    Unsupported {
        /// What was asked for.
        name: String,
        /// What is missing.
        needs: &'static str,
    },
}

impl KernelTable {
    /// The best kernel of every scheme on this CPU, then each name of `forced` in turn: `scheme/backend` for one
    /// scheme, or a bare backend (`portable`) for every scheme that has it.
    ///
    /// # Errors
    /// If a name is unknown, or names a kernel this CPU cannot run.
    pub fn select<S: AsRef<str>>(forced: &[S]) -> Result<Self, SelectError> {
        Self::select_from(REGISTRY, forced)
    }

    /// The choice for `scheme`.
    #[must_use]
    pub fn get(&self, scheme: Scheme) -> Selection {
        self.chosen[scheme.index()]
    }

    /// Replaces the kernel of one scheme by a kernel that is not in the registry. For tests and benches (a null
    /// kernel shows what the engine's frame costs); nothing in the configuration reaches this.
    #[doc(hidden)]
    pub fn replace(&mut self, scheme: Scheme, kernel: &'static dyn Kernel) {
        self.chosen[scheme.index()] = Selection { backend: "null", kernel, forced: true };
    }

    /// Takes another choice for a scheme after the self-test refused the first.
    pub(super) fn set(&mut self, scheme: Scheme, selection: Selection) {
        self.chosen[scheme.index()] = selection;
    }

    fn select_from<S: AsRef<str>>(registry: Registry, forced: &[S]) -> Result<Self, SelectError> {
        let mut table = Self { chosen: Scheme::ALL.map(|scheme| best(registry, scheme)) };
        for name in forced {
            table.force(registry, name.as_ref())?;
        }
        Ok(table)
    }

    fn force(&mut self, registry: Registry, name: &str) -> Result<(), SelectError> {
        let (scheme_part, backend) =
            name.rsplit_once('/').map_or((None, name), |(scheme, backend)| (Some(scheme), backend));
        let mut found = false;
        for scheme in Scheme::ALL {
            if scheme_part.is_some_and(|wanted| wanted != scheme.name()) {
                continue;
            }
            for entry in entries_of(registry, scheme).filter(|entry| entry.backend == backend) {
                let kernel = (entry.open)()
                    .ok_or_else(|| SelectError::Unsupported { name: name.to_owned(), needs: entry.needs })?;
                self.chosen[scheme.index()] = Selection { backend: entry.backend, kernel, forced: true };
                found = true;
            }
        }
        if found {
            return Ok(());
        }
        Err(SelectError::Unknown { name: name.to_owned(), known: known_names(registry) })
    }
}

fn best(registry: Registry, scheme: Scheme) -> Selection {
    let (entry, kernel) = entries_of(registry, scheme)
        .find_map(|entry| Some((entry, (entry.open)()?)))
        .expect("every scheme has a portable kernel, which opens everywhere");
    Selection { backend: entry.backend, kernel, forced: false }
}

/// Full names and, for all schemes at once, bare backends.
fn known_names(registry: Registry) -> String {
    let entries = || registry.iter().flat_map(|family| family.iter());
    let backends: BTreeSet<&str> = entries().map(|entry| entry.backend).collect();
    entries().map(Entry::name).chain(backends.into_iter().map(str::to_owned)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Job, LaneMask, Scratch};

    #[derive(Debug)]
    struct Fake;

    impl Kernel for Fake {
        fn lanes(&self) -> usize {
            8
        }

        fn run(&self, _scratch: &mut Scratch, _jobs: &[Job<'_>]) -> LaneMask {
            LaneMask::NONE
        }
    }

    const fn entry(scheme: Scheme, backend: &'static str, open: fn() -> Option<&'static dyn Kernel>) -> Entry {
        Entry { scheme, backend, needs: "a CPU from the future", open }
    }

    /// Three backends for Ed25519, of which the best does not open here; two for HMAC-SHA256; what is real for the rest.
    static REGISTRY_OF_TEST: Registry = &[
        &[
            entry(Scheme::Ed25519, "future", || None),
            entry(Scheme::Ed25519, "wide", || Some(&Fake)),
            entry(Scheme::Ed25519, "portable", || Some(&Fake)),
            entry(Scheme::HmacSha256, "wide", || Some(&Fake)),
        ],
        ed25519::ENTRIES,
        ecdsa_p256::ENTRIES,
        ecdsa_p384::ENTRIES,
        ecdsa_p521::ENTRIES,
        ecdsa_secp256k1::ENTRIES,
        rsa::ENTRIES,
        hmac::ENTRIES,
    ];

    #[test]
    fn the_best_kernel_that_opens_is_chosen_unless_another_is_named() {
        let cases: [(&[&str], &str, &str); 6] = [
            (&[], "wide", "wide"),
            (&["portable"], "portable", "portable"),
            (&["ed25519/portable"], "portable", "wide"),
            (&["hmac_sha256/portable"], "wide", "portable"),
            (&["portable", "ed25519/wide"], "wide", "portable"),
            (&["ed25519/wide", "portable"], "portable", "portable"),
        ];
        for (forced, ed25519, hmac) in cases {
            let table = KernelTable::select_from(REGISTRY_OF_TEST, forced).unwrap();
            let got = [Scheme::Ed25519, Scheme::HmacSha256].map(|scheme| table.get(scheme).backend);
            assert_eq!(got, [ed25519, hmac], "{forced:?}");
            assert_eq!(table.get(Scheme::EcdsaP384Sha384).backend, "portable");
        }
        let table = KernelTable::select_from(REGISTRY_OF_TEST, &["ed25519/wide"]).unwrap();
        assert!(table.get(Scheme::Ed25519).forced && !table.get(Scheme::HmacSha256).forced);
    }

    #[test]
    fn a_kernel_this_cpu_cannot_run_is_never_forced() {
        for name in ["future", "ed25519/future"] {
            let error = KernelTable::select_from(REGISTRY_OF_TEST, &[name]).unwrap_err();
            let want = SelectError::Unsupported { name: name.to_owned(), needs: "a CPU from the future" };
            assert_eq!(error, want);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_there_is() {
        for name in
            ["", "/", "ed25519", "ed25519/", "/portable", "ed25519/wider", "hmac_sha512/wide", "Portable", "a/b/c"]
        {
            let error = KernelTable::select_from(REGISTRY_OF_TEST, &[name]).unwrap_err();
            let SelectError::Unknown { name: got, known } = error else { panic!("{name}: {error}") };
            assert_eq!(got, name);
            assert!(known.contains("ed25519/wide") && known.ends_with("future, portable, wide"), "{known}");
        }
    }

    #[test]
    fn every_scheme_ends_with_a_portable_kernel_of_width_one() {
        for scheme in Scheme::ALL {
            let entry = entries(scheme).last().unwrap();
            assert_eq!((entry.backend, entry.needs), ("portable", ""), "{scheme}");
            assert_eq!((entry.open)().map(Kernel::lanes), Some(1), "{scheme}");
        }
    }

    #[test]
    fn no_two_entries_share_a_name() {
        let names: Vec<String> = REGISTRY.iter().flat_map(|family| family.iter()).map(Entry::name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
