//! The projects of `fixtures/lsp/projects`, one for each language: a library with a function, a main
//! file that uses it in code and in a comment, and another file that uses it and is never opened.

/// A text that is replaced in a file.
pub(crate) struct Edit {
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// A line of a file by a part of it.
pub(crate) type At = (&'static str, &'static str);

/// A project and what is known of it.
pub(crate) struct Language {
    pub folder: &'static str,
    /// The file whose use of the function is looked at.
    pub main: &'static str,
    /// The function.
    pub function: &'static str,
    /// Another name for it.
    pub renamed: &'static str,
    /// The line of the main file with the function in code and, after it, in a comment.
    pub uses: &'static str,
    /// What starts a comment, and a blank.
    pub comment: &'static str,
    /// Where the function is declared: one of these.
    pub declared: &'static [At],
    /// A part of the function's documentation.
    pub documented: &'static str,
    /// A variable of the line that uses the function, and where its type is declared.
    pub variable: (&'static str, At),
    /// A line that names something to implement, its name there, and where that is done.
    pub implemented: (At, &'static str, At),
    /// Every use of the function in code, with its declaration.
    pub references: &'static [At],
    /// Names in the file of the library.
    pub library: (&'static str, &'static [&'static str]),
    /// The line of the other file with an emoji and Chinese characters before the function.
    pub after_emoji: At,
    /// Makes one error in the main file, in the line that uses the function.
    pub breaks: Edit,
    /// Makes the main file's use of the function wrong.
    pub breaks_users: Edit,
    /// Makes the main file ask for a file that is not there, and that file.
    pub wants: Edit,
    pub wanted: At,
}

impl Language {
    /// The line of the main file that asks for the file that is not there.
    pub(crate) fn wants_line(&self) -> &'static str {
        let wants = |line: &&str| !self.wants.from.contains(line);
        self.wants.to.lines().find(wants).unwrap()
    }
}

pub(crate) static PYTHON: Language = Language {
    folder: "python",
    main: "shop/main.py",
    function: "total",
    renamed: "whole",
    uses: "due = total(basket)",
    comment: "# ",
    declared: &[("shop/order.py", "def total")],
    documented: "Adds the shipping",
    variable: ("basket", ("shop/order.py", "class Order")),
    implemented: (
        ("shop/order.py", "class Priced"),
        "Priced",
        ("shop/order.py", "class Order(Priced)"),
    ),
    references: &[
        ("shop/main.py", "import Order, total"),
        ("shop/main.py", "due = total(basket)"),
        ("shop/order.py", "def total"),
        ("shop/report.py", "import Order, total"),
        ("shop/report.py", "str(total(order))"),
    ],
    library: ("shop/order.py", &["Priced", "Order", "__init__", "price", "total"]),
    after_emoji: ("shop/report.py", "str(total(order))"),
    breaks: Edit { file: "shop/main.py", from: "due = total", to: "due: str = total" },
    breaks_users: Edit {
        file: "shop/order.py",
        from: "def total(order: Order)",
        to: "def total(order: Order, shipping: int)",
    },
    wants: Edit {
        file: "shop/main.py",
        from: "from shop.report import summary\n",
        to: "from shop.report import summary\nfrom shop.parcel import weight\n",
    },
    wanted: ("shop/parcel.py", "weight = 12\n"),
};

pub(crate) static TYPESCRIPT: Language = Language {
    folder: "typescript",
    main: "src/main.ts",
    function: "total",
    renamed: "whole",
    uses: "due = total(basket)",
    comment: "// ",
    declared: &[("src/order.ts", "function total")],
    documented: "Adds the shipping",
    variable: ("basket", ("src/order.ts", "class Order")),
    implemented: (
        ("src/order.ts", "interface Priced"),
        "Priced",
        ("src/order.ts", "class Order implements"),
    ),
    references: &[
        ("src/main.ts", "import { Order, total }"),
        ("src/main.ts", "due = total(basket)"),
        ("src/order.ts", "function total"),
        ("src/report.ts", "import { Order, total }"),
        ("src/report.ts", "String(total(order))"),
    ],
    library: ("src/order.ts", &["Priced", "Order", "price", "total"]),
    after_emoji: ("src/report.ts", "String(total(order))"),
    breaks: Edit {
        file: "src/main.ts",
        from: "const due = total",
        to: "const due: string = total",
    },
    breaks_users: Edit {
        file: "src/order.ts",
        from: "function total(order: Priced)",
        to: "function total(order: Priced, shipping: number)",
    },
    wants: Edit {
        file: "src/main.ts",
        from: "import { summary } from \"./report\";\n",
        to: "import { summary } from \"./report\";\nimport { weight } from \"./parcel\";\n",
    },
    wanted: ("src/parcel.ts", "export const weight = 12;\n"),
};

pub(crate) static CPP: Language = Language {
    folder: "cpp",
    main: "main.cpp",
    function: "total",
    renamed: "whole",
    uses: "due = total(basket)",
    comment: "// ",
    // Which of the two it gives depends on what it has indexed.
    declared: &[("order.h", "int total("), ("order.cpp", "int total(")],
    documented: "Adds the shipping",
    variable: ("basket", ("order.h", "struct Order")),
    implemented: (
        ("order.h", "virtual int price()"),
        "price",
        ("order.h", "int price() const override"),
    ),
    references: &[
        ("main.cpp", "due = total(basket)"),
        ("order.cpp", "int total("),
        ("order.h", "int total("),
        ("report.cpp", "total(order)"),
    ],
    library: ("order.h", &["Priced", "price", "Order", "pieces", "total", "summary"]),
    after_emoji: ("report.cpp", "total(order)"),
    breaks: Edit { file: "main.cpp", from: "total(basket)", to: "total(basked)" },
    breaks_users: Edit {
        file: "order.h",
        from: "int total(const Order &order);",
        to: "int total(const Order &order, int shipping);",
    },
    wants: Edit {
        file: "main.cpp",
        from: "#include \"order.h\"\n",
        to: "#include \"order.h\"\n#include \"parcel.h\"\n",
    },
    wanted: ("parcel.h", "#pragma once\nconstexpr int weight = 12;\n"),
};

pub(crate) static RUST: Language = Language {
    folder: "rust",
    main: "src/main.rs",
    function: "total",
    renamed: "whole",
    uses: "due = total(&basket)",
    comment: "// ",
    declared: &[("src/order.rs", "pub fn total")],
    documented: "Adds the shipping",
    variable: ("basket", ("src/order.rs", "pub struct Order")),
    implemented: (
        ("src/order.rs", "pub trait Priced"),
        "Priced",
        ("src/order.rs", "impl Priced for Order"),
    ),
    references: &[
        ("src/main.rs", "use order::{Order, total}"),
        ("src/main.rs", "due = total(&basket)"),
        ("src/order.rs", "pub fn total"),
        ("src/report.rs", "use crate::order::{Order, total}"),
        ("src/report.rs", "&total(order)"),
    ],
    library: ("src/order.rs", &["Priced", "price", "Order", "pieces", "total"]),
    after_emoji: ("src/report.rs", "&total(order)"),
    breaks: Edit { file: "src/main.rs", from: "let due = total", to: "let due: &str = total" },
    breaks_users: Edit {
        file: "src/order.rs",
        from: "pub fn total(order: &Order)",
        to: "pub fn total(order: &Order, _shipping: i64)",
    },
    wants: Edit { file: "src/main.rs", from: "mod report;\n", to: "mod parcel;\nmod report;\n" },
    wanted: ("src/parcel.rs", "//! What is sent.\n"),
};

pub(crate) static GO: Language = Language {
    folder: "go",
    main: "main.go",
    function: "Total",
    renamed: "Whole",
    uses: "due := order.Total(basket)",
    comment: "// ",
    declared: &[("order/order.go", "func Total")],
    documented: "adds the shipping",
    variable: ("basket", ("order/order.go", "type Order struct")),
    implemented: (
        ("order/order.go", "type Priced interface"),
        "Priced",
        ("order/order.go", "type Order struct"),
    ),
    references: &[
        ("main.go", "due := order.Total(basket)"),
        ("order/order.go", "func Total"),
        ("report.go", "order.Total(o)"),
    ],
    library: ("order/order.go", &["Priced", "Order", "Price", "Total"]),
    after_emoji: ("report.go", "order.Total(o)"),
    breaks: Edit {
        file: "main.go",
        from: "due := order.Total",
        to: "var due string = order.Total",
    },
    breaks_users: Edit {
        file: "order/order.go",
        from: "func Total(o Order) int",
        to: "func Total(o Order, shipping int) int",
    },
    wants: Edit {
        file: "main.go",
        from: "fmt.Println(due, summary(basket))",
        to: "fmt.Println(due, summary(basket), weight)",
    },
    wanted: ("parcel.go", "package main\n\nconst weight = 12\n"),
};
