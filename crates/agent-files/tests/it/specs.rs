use agent_tool_core::Tier;

use crate::checkout::Checkout;

/// What the five specs may cost, of the 6,000 tokens of the whole surface.
const TOKENS: usize = 1_400;

#[test]
fn every_spec_is_portable_and_together_they_are_small() {
    let checkout = Checkout::new([("a", "")]);
    let specs: Vec<_> = checkout.tools().iter().map(|tool| tool.spec().clone()).collect();
    for spec in &specs {
        assert_eq!(agent_testkit::spec_faults(spec), Vec::<String>::new());
    }
    let tokens = agent_testkit::tokens(&specs);
    assert!(tokens <= TOKENS, "{tokens} tokens");
    let tiers: Vec<_> = specs.iter().map(|spec| (spec.name.as_str(), spec.tier)).collect();
    let expected = [
        ("read", Tier::Read),
        ("write", Tier::Write),
        ("edit", Tier::Write),
        ("apply_patch", Tier::Write),
        ("search", Tier::Read),
    ];
    assert_eq!(tiers, expected);
}
