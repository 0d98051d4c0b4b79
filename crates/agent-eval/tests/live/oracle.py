# Runs the cells of cases in a real ipykernel and prints what a notebook shows, in the shape of eval's data.
import json, os, queue, sys, tempfile, time, warnings
warnings.filterwarnings("ignore")
from jupyter_client.manager import start_new_kernel


def run(client, code, seconds=60):
    data = {"status": None, "result": None, "displays": [], "stdout": "", "stderr": "", "error": None, "state": "kept",
            "duration_ms": 0, "pager": ""}
    asked, idle, end = client.execute(code, allow_stdin=False), False, time.time() + seconds
    while not (idle and data["status"]):
        try:
            if not idle:
                message = client.get_iopub_msg(timeout=max(0.1, end - time.time()))
            else:
                message = client.get_shell_msg(timeout=max(0.1, end - time.time()))
        except queue.Empty:
            data["status"] = "timed_out"
            break
        if message["parent_header"].get("msg_id") != asked:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            data[content["name"]] += content["text"]
        elif kind == "execute_result":
            data["result"] = content["data"]
        elif kind == "display_data":
            data["displays"].append(content["data"])
        elif kind == "error":
            data["error"] = {"name": content["ename"], "value": content["evalue"], "traceback": content["traceback"]}
        elif kind == "status" and content["execution_state"] == "idle":
            idle = True
        elif kind == "execute_reply":
            data["status"] = content["status"]
            data["pager"] = "".join(page.get("data", {}).get("text/plain", "") for page in content.get("payload", []))
    return data


found = {}
for case in json.load(sys.stdin):
    folder = tempfile.mkdtemp()
    for name, text in case["files"].items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    manager, client = start_new_kernel(kernel_name="python3", cwd=folder, extra_arguments=["--log-level=50"],
                                       stderr=open(os.devnull, "w"))
    for cell in case["cells"]:
        found[case["id"]] = run(client, cell)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
json.dump(found, sys.stdout)
