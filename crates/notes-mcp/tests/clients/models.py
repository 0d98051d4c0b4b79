"""Holds lines of notes-mcp to the models of the official Python client: the shapes that it expects of revision 2026-07-28.

Reads {"asked": METHOD or null, "message": MESSAGE}, one a line, and prints how many there were. What a model does not name it
would ignore, so each result is written again from its model, and has to be what came.
"""

import json
import sys

import mcp_types._v2026_07_28 as revision
from mcp_types import jsonrpc, methods

VERSION = "2026-07-28"


def hold(asked, message):
    if "method" in message:
        jsonrpc.JSONRPCNotification.model_validate(message)
        methods.parse_server_notification(message["method"], VERSION, message["params"])
    elif "result" in message:
        jsonrpc.JSONRPCResponse.model_validate(message)
        methods.parse_server_result(asked, VERSION, message["result"])
        again = methods.serialize_server_result(asked, VERSION, message["result"])
        if without_null(again) != without_null(message["result"]):
            raise ValueError(f"only this is known of it: {again}")
    else:
        revision.JSONRPCErrorResponse.model_validate(message)
        # The client's own envelope wants an id where the schema lets it be missing.
        jsonrpc.JSONRPCError.model_validate({"id": None, **message})


def without_null(value):
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_null(item) for item in value]
    return value


count = 0
for line in sys.stdin:
    case = json.loads(line)
    try:
        hold(case["asked"], case["message"])
    except Exception as error:
        sys.exit(f"{error}\nin the answer to {case['asked']}: {case['message']}")
    count += 1
print(count)
