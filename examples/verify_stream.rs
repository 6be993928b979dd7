//! Sends tokens through one bidirectional gRPC stream and counts the answers.
//!
//! ```sh
//! cargo run --release -- serve --dev            # in one terminal
//! cargo run --release --example verify_stream -- http://127.0.0.1:8080 tokens.ndjson
//! ```
//!
//! Each line of the file is a JSON object with `token` and, if wanted, `issuer` and `audience`. Lines are read as the
//! stream takes them, so the file may be of any length; HTTP/2 flow control is the back-pressure. Ends with 1 if an
//! answer is missing, comes twice or is an error about the service.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use tokio::sync::mpsc::{Receiver, channel};
use verilane::grpc::proto::verifier_client::VerifierClient;
use verilane::grpc::proto::{VerifyRequest, VerifyStreamRequest, verify_answer::Answer};

#[derive(serde::Deserialize)]
struct Line {
    token: String,
    issuer: Option<String>,
    audience: Option<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: verify_stream http://HOST:PORT FILE".into());
    };
    let (sender, receiver) = channel(64);
    let reader = std::thread::spawn(move || -> Result<u64, String> {
        let file = std::fs::File::open(&file).map_err(|error| format!("{file}: {error}"))?;
        let mut sent = 0;
        for line in std::io::BufReader::new(file).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let line: Line = serde_json::from_str(&line).map_err(|error| format!("line {}: {error}", sent + 1))?;
            let request = VerifyRequest { token: line.token, issuer: line.issuer, audience: line.audience };
            if sender.blocking_send(VerifyStreamRequest { id: sent, request: Some(request) }).is_err() {
                break;
            }
            sent += 1;
        }
        Ok(sent)
    });

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    let (counts, seen) = runtime.block_on(async {
        let mut client = VerifierClient::new(tonic::transport::Endpoint::from_shared(address)?.connect().await?);
        let requests =
            stream::unfold(receiver, async |mut receiver: Receiver<_>| Some((receiver.recv().await?, receiver)));
        let mut answers = client.verify_stream(requests).await?.into_inner();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut seen: Vec<u64> = Vec::new();
        while let Some(answer) = answers.next().await {
            let answer = answer?;
            let (word, bit) = (usize::try_from(answer.id / 64)?, 1 << (answer.id % 64));
            if seen.len() <= word {
                seen.resize(word + 1, 0);
            }
            if seen[word] & bit != 0 {
                return Err(format!("answer {} came twice", answer.id).into());
            }
            seen[word] |= bit;
            let outcome = match answer.answer.and_then(|answer| answer.answer) {
                Some(Answer::Accepted(_)) => "accepted".to_owned(),
                Some(Answer::Rejected(rejected)) => format!("rejected: {}", rejected.code),
                Some(Answer::Error(failure)) => format!("error: {}", failure.code),
                None => "error: empty answer".to_owned(),
            };
            *counts.entry(outcome).or_default() += 1;
        }
        Ok::<_, Box<dyn std::error::Error>>((counts, seen))
    })?;
    let elapsed = began.elapsed();
    let sent = reader.join().map_err(|_| "the reader panicked")??;

    for (outcome, count) in &counts {
        println!("{count:>9}  {outcome}");
    }
    let answered: u64 = seen.iter().map(|word| u64::from(word.count_ones())).sum();
    println!("{answered} of {sent} answered in {:.2} s", elapsed.as_secs_f64());
    if answered != sent || counts.keys().any(|outcome| outcome.starts_with("error")) {
        std::process::exit(1);
    }
    Ok(())
}
