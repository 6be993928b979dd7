//! The path of a token on a shard: the answers of the synchronous path, one observation each, and every way not to
//! answer.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::task::{LocalSet, spawn_local, yield_now};
use verilane::engine::{Context, Engine, EngineConfig, Shard};
use verilane::faces::{Drain, FaceSettings, KeySpec, ShardState, SignatureSpec};
use verilane::jose::Algorithm;
use verilane::kernel::KernelTable;
use verilane::keys::IssuerKeys;
use verilane::keys::remote::{Endpoint, Fetcher, GetRequest, GetResponse, Getting, RemoteConfig, Schedule, Transport};
use verilane::policy::Policy;
use verilane::verify::{
    Error, Observation, Observe, Reason, ShardVerifier, SignatureKey, SignatureRequest, SignatureVerdict, Verdict,
    Verifier, VerifierOptions,
};

use crate::support::tokens::{Signer, jwk_set};
use crate::verify::{
    Case, HEADER, claims, entry, good_token, key_set, keys, policy, rejected_cases, request, signed, summary,
    verifier_of,
};

/// Keeps what it observes, as text.
#[derive(Default)]
struct Notes(RefCell<Vec<String>>);

impl Observe for Notes {
    fn observe(&self, seen: &Observation<'_>) {
        let Observation { issuer_name, algorithm, outcome, raw, .. } = seen;
        self.0.borrow_mut().push(format!("{issuer_name} {algorithm:?} {outcome:?} {raw}"));
    }
}

impl Notes {
    fn taken(&self) -> Vec<String> {
        self.0.take()
    }
}

/// A shard, its verifier and what was observed.
struct Bench {
    engine: Engine,
    shard: Shard,
    current: Arc<ArcSwap<Verifier>>,
    verifier: ShardVerifier,
    notes: Rc<Notes>,
}

impl Bench {
    fn new(verifier: Verifier, slots_per_shard: usize, wait: Duration, parked_max: usize) -> Self {
        let table = KernelTable::select::<&str>(&[]).unwrap();
        let engine = Engine::new(1, &table, &EngineConfig { slots_per_shard, ..EngineConfig::default() });
        let shard = engine.shard(0);
        let current = Arc::new(ArcSwap::from_pointee(verifier));
        let notes = Rc::new(Notes::default());
        let observe: Rc<dyn Observe> = Rc::clone(&notes) as Rc<dyn Observe>;
        let verifier = ShardVerifier::new(Arc::clone(&current), shard.clone(), observe, wait, parked_max);
        Self { engine, shard, current, verifier, notes }
    }

    fn plain(verifier: Verifier) -> Self {
        Self::new(verifier, 1024, Duration::ZERO, 0)
    }

    fn run(&self) -> tokio::task::JoinHandle<()> {
        spawn_local(self.shard.clone().run())
    }
}

/// Runs on an event loop of one thread, as a shard does.
fn on_a_shard<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

fn context() -> Context {
    Context::new(&KernelTable::select::<&str>(&[]).unwrap())
}

#[test]
fn a_shard_answers_as_the_synchronous_path_does_and_observes_each_answer_once() {
    on_a_shard(async {
        let mut context = context();
        let mut cases: Vec<_> =
            rejected_cases().into_iter().map(|Case { verifier, request, .. }| (verifier, request)).collect();
        cases.push((verifier_of(policy()), request(good_token())));
        for (verifier, request) in cases {
            let alone = verifier.verify(&mut context, &request, Instant::now());
            let bench = Bench::plain(verifier);
            let runner = bench.run();
            let answer = bench.verifier.verify(request).await;
            assert_eq!(summary(&answer), summary(&alone));
            let notes = bench.notes.taken();
            let outcome = match &answer {
                Ok(Verdict::Accepted(_)) => "Ok(None)".to_owned(),
                Ok(Verdict::Rejected(rejection)) => format!("Ok(Some({:?}))", rejection.reason),
                Err(error) => format!("Err({error:?})"),
            };
            assert_eq!(notes.len(), 1, "{outcome}");
            assert!(notes[0].ends_with(&format!("{outcome} false")), "{notes:?} for {outcome}");
            bench.engine.close();
            runner.await.unwrap();
        }
    });
}

#[test]
fn observations_name_issuer_and_algorithm_as_soon_as_they_are_known() {
    on_a_shard(async {
        let bench = Bench::plain(verifier_of(policy()));
        bench.run();
        for (token, want) in [
            (good_token(), "main Some(EdDsa) Ok(None) false"),
            ("x".to_owned(), " None Ok(Some(TokenMalformed)) false"),
            (signed(r#"{"alg":"EdDSA","kid":"no"}"#, "{}"), "main Some(EdDsa) Ok(Some(UnknownKeyId)) false"),
            (signed(HEADER, "{}"), "main Some(EdDsa) Ok(Some(IssuerMissing)) false"),
        ] {
            let _ = bench.verifier.verify(request(token)).await;
            assert_eq!(bench.notes.taken(), [want]);
        }
        let signer = Signer::ed25519(1);
        for (signature, accepted, want) in [
            (signer.signature(b"m"), true, " Some(EdDsa) Ok(None) true"),
            (signer.signature(b"n"), false, " Some(EdDsa) Ok(Some(SignatureInvalid)) true"),
            (vec![1, 2, 3], false, " Some(EdDsa) Ok(Some(SignatureInvalid)) true"),
        ] {
            let question = SignatureRequest {
                algorithm: Algorithm::EdDsa,
                key: SignatureKey::from_jwk(signer.jwk(None).as_bytes(), Algorithm::EdDsa).unwrap(),
                message: b"m".as_slice().into(),
                signature: signature.into(),
                deadline: None,
            };
            let answer = bench.verifier.verify_signature(question).await.unwrap();
            assert_eq!(answer == SignatureVerdict::Accepted, accepted);
            assert_eq!(bench.notes.taken(), [want]);
        }
        let unusable = SignatureKey::from_jwk(b"{}", Algorithm::EdDsa).unwrap_err();
        assert_eq!(bench.verifier.reject_signature(unusable.clone()), SignatureVerdict::Rejected(unusable));
        assert_eq!(bench.notes.taken(), [" None Ok(Some(KeyInvalid)) true"]);
    });
}

#[test]
fn without_a_free_slot_the_answer_is_overloaded_and_all_keys_of_a_token_count() {
    on_a_shard(async {
        let twins = jwk_set(&[Signer::ed25519(1).jwk(None), Signer::ed25519(2).jwk(None)]);
        let twins = entry("main", policy(), IssuerKeys::fixed(key_set(&twins)));
        let bench = Bench::new(Verifier::new(vec![twins], VerifierOptions::default()).unwrap(), 3, Duration::ZERO, 0);
        let token = Signer::ed25519(2).token(r#"{"alg":"EdDSA"}"#, &claims());
        // Nothing runs yet: the first token holds two slots, and one is left.
        let first = spawn_local({
            let (verifier, request) = (bench.verifier.clone(), request(token.clone()));
            async move { verifier.verify(request).await }
        });
        yield_now().await;
        let second = bench.verifier.verify(request(token.clone())).await;
        assert_eq!(second.unwrap_err(), Error::Overloaded);
        assert_eq!(bench.shard.slots_free(), 1, "a refused token holds no slot");
        // What needs no slot is answered even so.
        assert!(matches!(bench.verifier.verify(request("x")).await, Ok(Verdict::Rejected(_))));

        bench.run();
        assert!(matches!(first.await.unwrap(), Ok(Verdict::Accepted(_))));
        assert!(matches!(bench.verifier.verify(request(token)).await, Ok(Verdict::Accepted(_))));
    });
}

#[test]
fn a_job_whose_deadline_passes_in_the_queue_is_not_answered() {
    on_a_shard(async {
        let bench = Bench::plain(verifier_of(policy()));
        let deadline = Instant::now() + Duration::from_millis(20);
        let late = spawn_local({
            let verifier = bench.verifier.clone();
            let request = verilane::verify::TokenRequest { deadline: Some(deadline), ..request(good_token()) };
            async move { verifier.verify(request).await }
        });
        yield_now().await;
        tokio::time::sleep_until((deadline + Duration::from_millis(5)).into()).await;
        bench.run();
        assert_eq!(late.await.unwrap().unwrap_err(), Error::DeadlineExceeded);
        assert_eq!(bench.notes.taken(), ["main Some(EdDsa) Err(DeadlineExceeded) false"]);
    });
}

#[test]
fn an_abandoned_check_harms_nobody_and_is_not_observed() {
    on_a_shard(async {
        let bench = Bench::plain(verifier_of(policy()));
        let gone = spawn_local({
            let (verifier, request) = (bench.verifier.clone(), request(Signer::ed25519(3).token(HEADER, &claims())));
            async move { verifier.verify(request).await }
        });
        yield_now().await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        bench.run();
        assert!(matches!(bench.verifier.verify(request(good_token())).await, Ok(Verdict::Accepted(_))));
        assert_eq!(bench.notes.taken(), ["main Some(EdDsa) Ok(None) false"]);
        assert_eq!(bench.shard.slots_free(), 1024, "the abandoned slot came back");
    });
}

#[test]
fn a_closed_engine_says_that_it_is_shutting_down() {
    on_a_shard(async {
        let bench = Bench::plain(verifier_of(policy()));
        bench.engine.close();
        let answer = bench.verifier.verify(request(good_token())).await;
        assert_eq!(answer.unwrap_err(), Error::ShuttingDown);
    });
}

#[test]
fn a_reload_takes_effect_between_checks() {
    on_a_shard(async {
        let bench = Bench::plain(verifier_of(policy()));
        bench.run();
        assert!(matches!(bench.verifier.verify(request(good_token())).await, Ok(Verdict::Accepted(_))));
        let strict = Policy { algorithms: vec![Algorithm::Es256], ..policy() };
        bench.current.store(Arc::new(verifier_of(strict)));
        match bench.verifier.verify(request(good_token())).await {
            Ok(Verdict::Rejected(rejection)) => assert_eq!(rejection.reason, Reason::AlgorithmNotAllowed),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn bulk_checks_share_the_shard_and_leave_room_for_single_ones() {
    on_a_shard(async {
        let bench = Bench::new(verifier_of(policy()), 8, Duration::ZERO, 0);
        let bulk = bench.verifier.for_bulk();
        let mut waiting = Vec::new();
        for _ in 0..8 {
            let (verifier, request) = (bulk.clone(), request(good_token()));
            waiting.push(spawn_local(async move { verifier.verify(request).await }));
        }
        yield_now().await;
        let single = spawn_local({
            let (verifier, request) = (bench.verifier.clone(), request(good_token()));
            async move { verifier.verify(request).await }
        });
        yield_now().await;
        bench.run();
        assert!(matches!(single.await.unwrap(), Ok(Verdict::Accepted(_))));
        let mut overloaded = 0;
        for answer in waiting {
            overloaded += usize::from(matches!(answer.await.unwrap(), Err(Error::Overloaded)));
        }
        assert!((1..8).contains(&overloaded), "{overloaded} of 8 bulk checks were refused");
    });
}

/// An issuer that publishes its next key after the first fetch, and answers only while it is not held.
struct Rotating {
    fetches: AtomicUsize,
    held: AtomicBool,
}

impl Rotating {
    fn start(held: bool) -> Arc<Self> {
        Arc::new(Self { fetches: AtomicUsize::new(0), held: AtomicBool::new(held) })
    }
}

struct Issuer(Arc<Rotating>);

impl Transport for Issuer {
    fn get<'a>(&'a self, _: GetRequest<'a>) -> Getting<'a> {
        Box::pin(async {
            let number = self.0.fetches.fetch_add(1, Ordering::SeqCst);
            while number > 0 && self.0.held.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut keys = vec![Signer::ed25519(1).jwk(Some("ed"))];
            if number > 0 {
                keys.push(Signer::ed25519(4).jwk(Some("next")));
            }
            Ok(GetResponse { status: 200, body: jwk_set(&keys).into_bytes(), ..GetResponse::default() })
        })
    }
}

/// A verifier whose keys come from `issuer`, once the first set is there.
async fn fetched(issuer: &Arc<Rotating>) -> (Verifier, verilane::keys::remote::FetchHandle) {
    let hour = Duration::from_secs(3600);
    let schedule = Schedule { floor: hour, ceiling: hour, hard_age: 2 * hour, ..Schedule::default() };
    let endpoint = Endpoint::Jwks { url: "https://issuer.example/jwks".to_owned() };
    let config = RemoteConfig { schedule, ..RemoteConfig::new(endpoint) };
    let keys = IssuerKeys::waiting("test");
    let transport = Issuer(Arc::clone(issuer));
    let handle = Fetcher::spawn_with(config, Arc::clone(&keys), transport).unwrap();
    while keys.load(Instant::now()).is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (Verifier::new(vec![entry("main", policy(), keys)], VerifierOptions::default()).unwrap(), handle)
}

fn next_token() -> String {
    Signer::ed25519(4).token(r#"{"alg":"EdDSA","kid":"next"}"#, &claims())
}

fn reason(answer: Result<Verdict, Error>) -> Option<Reason> {
    match answer.unwrap() {
        Verdict::Accepted(_) => None,
        Verdict::Rejected(rejection) => Some(rejection.reason),
    }
}

const PATIENT: Duration = Duration::from_secs(30);

#[test]
fn a_token_with_a_new_kid_waits_for_the_refetch_it_causes() {
    on_a_shard(async {
        let issuer = Rotating::start(false);
        let (verifier, _handle) = fetched(&issuer).await;
        let bench = Bench::new(verifier, 64, PATIENT, 8);
        bench.run();
        assert_eq!(reason(bench.verifier.verify(request(next_token())).await), None);
        assert_eq!(issuer.fetches.load(Ordering::SeqCst), 2);
        assert_eq!(bench.notes.taken(), ["main Some(EdDsa) Ok(None) false"], "one answer, one observation");
        // A kid that the issuer does not have is refused after its own refetch.
        let token = signed(r#"{"alg":"EdDSA","kid":"never"}"#, &claims());
        assert_eq!(reason(bench.verifier.verify(request(token)).await), Some(Reason::UnknownKeyId));
        assert_eq!(bench.verifier.parked(), 0);
    });
}

#[test]
fn waiting_for_a_refetch_is_bounded_in_time_and_number_and_by_the_deadline() {
    on_a_shard(async {
        let issuer = Rotating::start(true);
        let (verifier, _handle) = fetched(&issuer).await;
        let bench = Bench::new(verifier, 64, PATIENT, 1);
        bench.run();
        let parked = spawn_local({
            let (verifier, request) = (bench.verifier.clone(), request(next_token()));
            async move { verifier.verify(request).await }
        });
        while bench.verifier.parked() == 0 {
            yield_now().await;
        }
        // There is room for one, so the second does not wait.
        assert_eq!(reason(bench.verifier.verify(request(next_token())).await), Some(Reason::UnknownKeyId));
        issuer.held.store(false, Ordering::SeqCst);
        assert_eq!(reason(parked.await.unwrap()), None);
        assert_eq!(bench.verifier.parked(), 0);
        drop(bench);

        // The issuer hangs: the bound on the wait and the caller's deadline both end it.
        for (wait, deadline) in [(Duration::from_millis(10), None), (PATIENT, Some(Duration::from_millis(10)))] {
            let issuer = Rotating::start(true);
            let (verifier, _handle) = fetched(&issuer).await;
            let bench = Bench::new(verifier, 64, wait, 8);
            bench.run();
            let deadline = deadline.map(|after| Instant::now() + after);
            let request = verilane::verify::TokenRequest { deadline, ..request(next_token()) };
            assert_eq!(reason(bench.verifier.verify(request).await), Some(Reason::UnknownKeyId));
            assert_eq!(bench.verifier.parked(), 0);
        }
    });
}

#[test]
fn a_fixed_source_makes_nobody_wait() {
    on_a_shard(async {
        let entry = entry("main", policy(), keys());
        let bench = Bench::new(Verifier::new(vec![entry], VerifierOptions::default()).unwrap(), 64, PATIENT, 8);
        bench.run();
        let mut check = Box::pin(bench.verifier.verify(request(next_token())));
        let answer = poll_once(&mut check).await;
        assert_eq!(answer.map(reason), Some(Some(Reason::UnknownKeyId)), "answered at the first poll");
    });
}

/// Polls once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(cx) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn keys_that_come_with_a_batch_are_prepared_one_between_two_turns_of_everybody_else() {
    on_a_shard(async {
        let bench = Bench::plain(verifier_of(policy()));
        let (_switch, drain) = Drain::channel();
        let settings = Arc::new(FaceSettings::default());
        let state = ShardState::new(bench.verifier.clone(), bench.verifier.clone(), settings, drain);
        let answered = Rc::new(Cell::new(0));
        for _ in 0..64 {
            let (state, answered) = (state.clone(), Rc::clone(&answered));
            spawn_local(async move {
                // Preparing ends with a refusal, so that nothing but preparing is seen.
                let key = KeySpec::Jwk(r#"{"kty":"OKP","crv":"Ed25519","x":""}"#.into());
                let (message, signature) = (Default::default(), Default::default());
                let spec = SignatureSpec { algorithm: "EdDSA".to_owned(), message, signature, key, deadline: None };
                let verdict = state.verify_signature_in_bulk(spec).await;
                assert!(matches!(verdict, Ok(SignatureVerdict::Rejected(_))), "{verdict:?}");
                answered.set(answered.get() + 1);
            });
        }
        let mut seen = 0;
        for turn in 0..1000 {
            yield_now().await;
            let now = answered.get();
            assert!(now <= seen + 1, "{} keys within turn {turn}", now - seen);
            seen = now;
        }
        assert_eq!(seen, 64);
    });
}

#[test]
fn bulk_tokens_with_many_candidate_keys_are_held_back_and_not_shed() {
    on_a_shard(async {
        // Sixteen keys fit every token; twenty-four slots are for bulk.
        let document = jwk_set(&(1..=16).map(|number| Signer::ed25519(number).jwk(None)).collect::<Vec<_>>());
        for room in [24, 8] {
            let issuer = entry("main", policy(), IssuerKeys::fixed(key_set(&document)));
            let verifier = Verifier::new(vec![issuer], VerifierOptions::default()).unwrap();
            let bench = Bench::new(verifier, 32, Duration::ZERO, 0);
            let bulk = bench.verifier.for_bulk().holding_back(room);
            bench.run();
            let waiting: Vec<_> = (0..100)
                .map(|number| {
                    let token = Signer::ed25519(number % 16 + 1).token(r#"{"alg":"EdDSA"}"#, &claims());
                    let (verifier, request) = (bulk.clone(), request(token));
                    spawn_local(async move { verifier.verify(request).await })
                })
                .collect();
            for (number, answer) in waiting.into_iter().enumerate() {
                let answer = answer.await.unwrap();
                assert!(matches!(answer, Ok(Verdict::Accepted(_))), "{number} with room {room}: {answer:?}");
            }
        }
    });
}
