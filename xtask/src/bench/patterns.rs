//! What is searched for: things that people look for, from rare words to none at all.

/// A pattern, and whether the peer means the same by it.
pub struct Pair {
    pub language: &'static str,
    pub pattern: &'static str,
    /// Why the two sides may find different places, where they may.
    pub differs: Option<&'static str>,
}

const fn same(language: &'static str, pattern: &'static str) -> Pair {
    Pair { language, pattern, differs: None }
}

const fn other(language: &'static str, pattern: &'static str, why: &'static str) -> Pair {
    Pair { language, pattern, differs: Some(why) }
}

const TRAILING: &str = "the peer drops what stands behind the pattern's last part";

pub const PAIRS: &[Pair] = &[
    same("rust", "$X.unwrap()"),
    same("rust", "tokio::spawn($X)"),
    same("rust", "$A == $A"),
    other("rust", "if let Some($X) = $Y { $$$B }", TRAILING),
    same("rust", "mem::take($X)"),
    other("rust", "fn $F(&self) -> $R { $$$B }", TRAILING),
    same("rust", "panic::catch_unwind($X)"),
    same("rust", "Arc::clone($X)"),
    same("python", "isinstance($X, $Y)"),
    same("python", "$X == None"),
    same("python", "$A == $A"),
    same("python", "self.assertRaisesMessage($$$A)"),
    other("python", "for $K, $V in $D.items(): $$$B", TRAILING),
    same("python", "warnings.warn($$$A)"),
    same("python", "copy.deepcopy($X)"),
    same("c", "OPENSSL_free($X);"),
    other("c", "if ($X == NULL) return $Y;", TRAILING),
    same("c", "memcpy($A, $B, sizeof($C));"),
    same("c", "git_vector_sort($X);"),
    same("c", "goto $L;"),
    same("c", "$A->$F = NULL;"),
    same("typescript", "console.log($$$A)"),
    same("typescript", "await $X"),
    same("typescript", "$A === $A"),
    same("typescript", "expect($X).toEqual($Y)"),
    other("typescript", "if ($A) { return $B }", TRAILING),
    same("typescript", "new Map($$$A)"),
    same("javascript", "new Vector3($$$A)"),
    same("javascript", "Object.defineProperty($$$A)"),
    same("javascript", "$A === $A"),
    same("javascript", "console.warn($$$A)"),
    same("javascript", "Math.floor($X)"),
    same("dart", "print($X)"),
    same("dart", "$A == $A"),
];
