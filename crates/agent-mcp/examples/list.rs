//! Lists the MCP servers of a file with their tools: `cargo run -p agent-mcp --example list -- FILE`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{env, error::Error, fs};

use agent_mcp::{Bridge, Servers};
use agent_process::{Guard, Launcher, guard};

fn main() -> Result<(), Box<dyn Error>> {
    // Whatever ends this program, its servers end with it.
    guard::main_if_asked();
    let path = env::args().nth(1).ok_or("usage: list FILE")?;
    let servers = Servers::parse(&fs::read_to_string(path)?)?;
    for remark in servers.remarks() {
        println!("note: {remark}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let launcher = Launcher::new(Guard::new());
        let bridge = Bridge::builder(launcher, env::temp_dir()).connect(servers).await;
        for report in bridge.reports() {
            let revision = report.revision.as_deref().unwrap_or("not connected");
            println!("{} ({revision})", report.name);
            report.why.iter().for_each(|why| println!("  failed: {why}"));
            report.remarks.iter().for_each(|remark| println!("  note: {remark}"));
            report.tools.iter().for_each(|tool| println!("  {} (tier {})", tool.name, tool.tier));
        }
        bridge.close().await;
    });
    Ok(())
}
