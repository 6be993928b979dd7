//! Generates the gRPC code and the descriptor set from `proto/`, in plain Rust: no protoc is needed. Without feature
//! `server` there is nothing to generate.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=proto");
    #[cfg(feature = "server")]
    server::generate()?;
    Ok(())
}

#[cfg(feature = "server")]
mod server {
    use std::path::PathBuf;

    pub fn generate() -> Result<(), Box<dyn std::error::Error>> {
        let out = PathBuf::from(std::env::var("OUT_DIR")?);
        let descriptors = protox::compile(["verilane/v1/verilane.proto"], ["proto"])?;
        std::fs::write(out.join("verilane.v1.bin"), prost::Message::encode_to_vec(&descriptors))?;
        tonic_prost_build::configure()
            // Messages and signatures are slices of the receive buffer, not copies.
            .bytes(".")
            // What carries tokens, payloads or keys shows itself by hand, see src/grpc/debug.rs.
            .skip_debug([".verilane.v1.VerifyRequest", ".verilane.v1.Accepted", ".verilane.v1.VerifySignatureRequest"])
            // Clients bring their own channel.
            .build_transport(false)
            .compile_fds(descriptors)?;
        Ok(())
    }
}
