//! Every kernel of the registry against the portable one of its scheme, at every fill and in every lane, on inputs that
//! are random, mutated or built to be awkward; and portable kernels against independent implementations. The same
//! comparison is run on kernels with planted faults, which it has to find.
//!
//! `VERILANE_TEST_SEED` repeats a run; `VERILANE_DIFFERENTIAL_ROUNDS` makes it longer (the default is 4 groups a fill).

use aws_lc_rs::{hmac, signature};
use verilane::kernel::{GROUP_WIDTH, Kernel, Scheme, available};

use crate::support::cases::{Case, Disagreement, garbage, run_group, run_group_on, run_in_lanes};
use crate::support::faulty_kernels::{Fault, FaultyKernel};
use crate::support::random::Random;
use crate::support::signed_cases::{Signed, mutations, signed_cases};
use crate::support::textbook::{Curve, rsa_verify};

/// The comparison: groups of every fill, picked at random from a pool with known answers.
fn compare(kernel: &dyn Kernel, pool: &[(Case, bool)], rounds: usize, random: &mut Random) -> Result<(), Disagreement> {
    // Every case once, then every fill and every lane with cases picked at random.
    run_in_lanes(kernel, pool, 1, random)?;
    let mut scratch = kernel.scratch();
    let (good, bad): (Vec<_>, Vec<_>) = pool.iter().map(|(case, expected)| (case, *expected)).partition(|pair| pair.1);
    for fill in 0..=GROUP_WIDTH {
        for _ in 0..rounds {
            // Half of them good, whatever the share in the pool.
            let group: Vec<(&Case, bool)> = (0..fill)
                .map(|_| if random.below(2) == 0 { *random.pick(&good) } else { *random.pick(&bad) })
                .collect();
            run_group_on(kernel, &mut scratch, &group)?;
        }
    }
    // One case alone in each lane of a group that answers otherwise.
    for lane in 0..GROUP_WIDTH {
        for (odd, rest) in [(good[0], bad[0]), (bad[0], good[0])] {
            let mut group = [rest; GROUP_WIDTH];
            group[lane] = odd;
            run_group_on(kernel, &mut scratch, &group)?;
        }
    }
    Ok(())
}

fn rounds() -> usize {
    std::env::var("VERILANE_DIFFERENTIAL_ROUNDS")
        .map_or(4, |text| text.parse().expect("VERILANE_DIFFERENTIAL_ROUNDS is a number"))
}

/// Cases of a scheme with the oracle's answers.
fn pool(scheme: Scheme, random: &mut Random) -> Vec<(Case, bool)> {
    let (_, oracle) = available(scheme).last().expect("every scheme has a portable kernel");
    let answer = |case: &Case| oracle.run(&mut oracle.scratch(), &[case.job()]).contains(0);
    let signed = signed_cases(scheme, random);
    let mut cases: Vec<Case> = signed.iter().map(|signed| signed.case.clone()).collect();
    for one in &signed {
        // Near misses of good signatures are worth most.
        if answer(&one.case) || random.below(8) == 0 {
            cases.extend(mutations(one, &signed, random).into_iter().map(|mutated| mutated.case));
        }
    }
    cases.extend(garbage(scheme, &signed[0].case.key).into_iter().map(|(case, _)| case));
    cases.into_iter().map(|case| (answer(&case), case)).map(|(good, case)| (case, good)).collect()
}

/// What an implementation says that shares no code with the portable kernel: another library for Ed25519 and HMAC, the
/// textbook for ECDSA and RSA.
fn second_opinion(scheme: Scheme, signed: &Signed) -> bool {
    let Signed { case: Case { message, signature, .. }, public } = signed;
    let hmac_verify = |algorithm: hmac::Algorithm| {
        // RFC 7518 section 3.2: the secret is at least as long as the tag.
        let key = hmac::Key::new(algorithm, &public[0]);
        public[0].len() >= algorithm.digest_algorithm().output_len() && hmac::verify(&key, message, signature).is_ok()
    };
    match scheme {
        Scheme::Ed25519 => {
            signature::UnparsedPublicKey::new(&signature::ED25519, &public[0]).verify(message, signature).is_ok()
        }
        Scheme::EcdsaP256Sha256 | Scheme::EcdsaP384Sha384 | Scheme::EcdsaP521Sha512 | Scheme::EcdsaSecp256k1Sha256 => {
            Curve::of(scheme).verify(&public[0], &public[1], message, signature)
        }
        Scheme::RsaPkcs1Sha256
        | Scheme::RsaPkcs1Sha384
        | Scheme::RsaPkcs1Sha512
        | Scheme::RsaPssSha256
        | Scheme::RsaPssSha384
        | Scheme::RsaPssSha512 => rsa_verify(scheme, &public[0], &public[1], message, signature),
        Scheme::HmacSha256 => hmac_verify(hmac::HMAC_SHA256),
        Scheme::HmacSha384 => hmac_verify(hmac::HMAC_SHA384),
        Scheme::HmacSha512 => hmac_verify(hmac::HMAC_SHA512),
    }
}

#[test]
fn every_kernel_answers_as_the_portable_one_at_every_fill() {
    for scheme in Scheme::ALL {
        let mut random = Random::from_environment(scheme.name());
        let pool = pool(scheme, &mut random);
        let good = pool.iter().filter(|(_, expected)| *expected).count();
        assert!(good >= 3, "{scheme}: only {good} good cases");
        for (entry, kernel) in available(scheme) {
            if let Err(disagreement) = compare(kernel, &pool, rounds(), &mut random) {
                panic!("{}: {disagreement:#?}", entry.name());
            }
            println!("{}: pool of {} with {good} good", entry.name(), pool.len());
        }
    }
}

#[test]
fn the_comparison_finds_every_planted_fault() {
    // The cheapest scheme of each kind; the comparison is the same code for all.
    for scheme in [Scheme::HmacSha256, Scheme::Ed25519] {
        let mut random = Random::from_environment(scheme.name());
        let pool = pool(scheme, &mut random);
        for fault in Fault::ALL {
            let kernel = FaultyKernel::leak(scheme, fault);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                compare(kernel, &pool, rounds(), &mut random)
            }));
            let found = outcome.is_err() || outcome.is_ok_and(|result| result.is_err());
            assert!(found, "{scheme}: {fault:?} went through");
        }
    }
}

#[test]
fn portable_kernels_answer_as_an_independent_implementation() {
    for scheme in Scheme::ALL {
        let mut random = Random::from_environment(scheme.name());
        let (_, portable) = available(scheme).last().unwrap();
        let signed = signed_cases(scheme, &mut random);
        let mut mutated: Vec<Signed> = Vec::new();
        for one in &signed {
            mutated.extend(mutations(one, &signed, &mut random));
        }
        // The textbook takes milliseconds: all that the kernel accepts, and a sample of the rest.
        let accepts = |one: &Signed| portable.run(&mut portable.scratch(), &[one.case.job()]).contains(0);
        let (mut chosen, mut rest): (Vec<Signed>, Vec<Signed>) = signed.into_iter().chain(mutated).partition(accepts);
        random.shuffle(&mut rest);
        chosen.extend(rest.into_iter().take(15 * rounds()));
        let mut accepted = 0;
        for one in &chosen {
            let expected = second_opinion(scheme, one);
            accepted += usize::from(expected);
            if let Err(disagreement) = run_group(portable, &[(&one.case, expected)]) {
                panic!("{scheme}: {disagreement:#?}");
            }
        }
        println!("{scheme}: {} cases, {accepted} accepted by both", chosen.len());
        assert!(accepted >= 3, "{scheme}");
    }
}
