"""What the other modules of the kernel share: one interpreter, one state."""

import os
import threading
import types


class State:
    def __init__(self):
        self.pid = os.getpid()
        self.main_thread = threading.get_ident()
        # The number of cells so far, and the name under which the current one's source is known.
        self.count = 0
        self.cell_name = ""
        # The header of the request that is being answered: the parent of every message.
        self.parent = {}
        # Whether a cell runs, so that a stray interrupt between cells does nothing.
        self.running = False
        # The event loop of cells with a top-level await, kept between cells.
        self.loop = None
        self.module = types.ModuleType("__main__")
        self.namespace = self.module.__dict__


STATE = State()
