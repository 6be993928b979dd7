//! The registry of kernels and the choice among them. The choice is made once, at start, from what the CPU has and
//! from what the configuration forces; forcing can only pick an entry that opens on this CPU.

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
    REGISTRY.iter().flat_map(|family| family.iter()).filter(move |entry| entry.scheme == scheme)
}

/// The kernels of a scheme that this CPU can run, best first.
pub fn available(scheme: Scheme) -> impl Iterator<Item = (&'static Entry, &'static dyn Kernel)> {
    entries(scheme).filter_map(|entry| Some((entry, (entry.open)()?)))
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
        let mut table = Self { chosen: Scheme::ALL.map(|scheme| best(scheme)) };
        for name in forced {
            table.force(name.as_ref())?;
        }
        Ok(table)
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

    fn force(&mut self, name: &str) -> Result<(), SelectError> {
        let (scheme_part, backend) = name.rsplit_once('/').map_or((None, name), |(s, b)| (Some(s), b));
        let mut found = false;
        for scheme in Scheme::ALL {
            if scheme_part.is_some_and(|wanted| wanted != scheme.name()) {
                continue;
            }
            for entry in entries(scheme).filter(|entry| entry.backend == backend) {
                let kernel = (entry.open)()
                    .ok_or_else(|| SelectError::Unsupported { name: name.to_owned(), needs: entry.needs })?;
                self.chosen[scheme.index()] = Selection { backend: entry.backend, kernel, forced: true };
                found = true;
            }
        }
        if found {
            return Ok(());
        }
        let mut known: Vec<String> = REGISTRY.iter().flat_map(|family| family.iter()).map(Entry::name).collect();
        known.push("portable".to_owned());
        Err(SelectError::Unknown { name: name.to_owned(), known: known.join(", ") })
    }
}

fn best(scheme: Scheme) -> Selection {
    let (entry, kernel) = available(scheme).next().expect("every scheme has a portable kernel, which opens everywhere");
    Selection { backend: entry.backend, kernel, forced: false }
}
