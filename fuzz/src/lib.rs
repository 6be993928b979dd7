//! What the fuzz targets run. The bodies are in a file that the test-suite of the service includes too: it puts every
//! file of the corpus through them.

pub mod reference;
pub mod targets;
