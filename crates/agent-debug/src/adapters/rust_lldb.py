"""Rust values in LLDB: rustc's own formatters, made safe and right.

The formatters that come with rustc take a value for what its bytes say, however wrong they are. LLDB shortens the 64-bit
niche by which `None` is told from `Some`, so a `None` is read as a string of garbage length, and reading it never ends. A
map is walked to its last bucket, one call for each. So this module loads rustc's formatters, replaces what can hang, and
only then turns them on. Where rustc's have changed so far that they cannot be replaced, none are turned on.

`ETC` is the folder of rustc's formatters; it is filled in where this file is written.
"""

import os
import sys

import lldb

ETC = "@ETC@"

# How much of a string is read, in bytes.
MAX_STRING = 2000

# How many buckets of a map are looked at, and how many of its entries are found.
MAX_BUCKETS = 1 << 22
MAX_ENTRIES = 1000

# How deep a payload is searched for the capacity of a vector.
MAX_DEPTH = 12
MAX_FIELDS = 32

# What is replaced: a formatter without one of these is another one than this module knows.
REPLACED = (
    "ClangEncodedEnumProvider",
    "StdHashMapSyntheticProvider",
    "StdOsStringSummaryProvider",
    "StdPathSummaryProvider",
    "StdStrSummaryProvider",
    "StdStringSummaryProvider",
    "StdStringSyntheticProvider",
)


class NoChildren:
    """A string is its text; its bytes are no children of it."""

    def __init__(self, valobj, _dict):
        pass

    def num_children(self):
        return 0

    def get_child_at_index(self, index):
        return None

    def get_child_index(self, name):
        return -1

    def has_children(self):
        return False

    def update(self):
        pass


def quoted(process, address, length):
    """The text at an address, cut where it is long, or a word for why there is none."""
    if length == 0:
        return '""'
    error = lldb.SBError()
    data = process.ReadMemory(address, min(length, MAX_STRING), error)
    if not error.Success() or data is None:
        return "<unreadable: not initialized yet, or gone>"
    text = '"' + data.decode("utf-8", "replace") + '"'
    return text if length <= MAX_STRING else text + " ... (%d bytes)" % length


def member(value, *names):
    for name in names:
        value = value.GetNonSyntheticValue().GetChildMemberWithName(name)
    return value


def vec_text(vec):
    pointer = member(vec, "buf", "inner", "ptr", "pointer", "pointer")
    length = member(vec, "len").GetValueAsUnsigned()
    return quoted(vec.GetProcess(), pointer.GetValueAsUnsigned(), length)


def string_summary(valobj, _dict):
    return vec_text(member(valobj, "vec"))


def os_string_summary(valobj, _dict):
    inner = valobj.GetNonSyntheticValue()
    for _ in range(4):
        if member(inner, "buf", "inner").IsValid() and member(inner, "len").IsValid():
            return vec_text(inner)
        inner = inner.GetChildAtIndex(0).GetNonSyntheticValue()
    return None


def str_summary(valobj, _dict):
    pointer = member(valobj, "data_ptr")
    length = member(valobj, "length").GetValueAsUnsigned()
    return quoted(valobj.GetProcess(), pointer.GetValueAsUnsigned(), length)


def capacity_at(value, address, depth=0):
    """Whether a vector in this value keeps its capacity at the address: there 0 is a capacity and no niche."""
    value = value.GetNonSyntheticValue()
    if "UsizeNoHighBit" in (value.GetType().GetName() or ""):
        return value.GetLoadAddress() == address
    if depth > MAX_DEPTH:
        return False
    for index in range(min(value.GetNumChildren(), MAX_FIELDS)):
        child = value.GetChildAtIndex(index, lldb.eNoDynamicValues, False)
        start, size = child.GetLoadAddress(), child.GetType().GetByteSize()
        inside = start != lldb.LLDB_INVALID_ADDRESS and start <= address < start + max(size, 1)
        if inside and capacity_at(child, address, depth + 1):
            return True
    return False


def variant_index(self, variants):
    """The variant that is there: the one whose number is the discriminant's, or else the one without a number."""
    default, numbered = None, []
    for index in range(variants.GetNumChildren()):
        variant = variants.GetChildAtIndex(index)
        discriminant = variant.GetChildMemberWithName("$discr$")
        if discriminant.IsValid():
            numbered.append((index, variant.GetName(), discriminant))
        else:
            default = index
    for index, name, discriminant in numbered:
        try:
            wanted = int(name.rsplit("$", 1)[1])
        except (IndexError, ValueError):
            continue
        found = discriminant.GetValueAsUnsigned()
        if discriminant.GetType().GetByteSize() <= 4 or default is None:
            if found == wanted:
                return index
        elif found > 0xFFFFFFFF:
            # LLDB keeps the lower half of the number alone.
            if found & 0xFFFFFFFF == wanted:
                return index
        elif found == wanted:
            payload = variants.GetChildAtIndex(default).GetChildMemberWithName("value")
            if not capacity_at(payload, discriminant.GetLoadAddress()):
                return index
    return default if default is not None else 0


def map_update(original):
    """Finds the entries of a map by one read of its control bytes."""

    def update(self):
        table = self.table()
        inner = table.GetChildMemberWithName("table")
        ctrl = inner.GetChildMemberWithName("ctrl").GetChildAtIndex(0)
        buckets = inner.GetChildMemberWithName("bucket_mask").GetValueAsUnsigned() + 1
        pair = table.GetType().GetTemplateArgumentType(0)
        if pair.IsTypedefType():
            pair = pair.GetTypedefedType()
        self.valid_indices, self.size = [], 0
        self.pair_type, self.pair_type_size = pair, pair.GetByteSize()
        self.new_layout = not inner.GetChildMemberWithName("data").IsValid()
        if not self.new_layout or not pair.IsValid() or buckets > MAX_BUCKETS:
            self.data_ptr = ctrl
            return
        self.data_ptr = ctrl.Cast(pair.GetPointerType())
        error = lldb.SBError()
        data = ctrl.GetProcess().ReadMemory(ctrl.GetValueAsUnsigned(), buckets, error)
        if not error.Success() or data is None:
            return
        for index, byte in enumerate(data):
            if byte & 0x80 == 0:
                self.valid_indices.append(index)
                if len(self.valid_indices) == MAX_ENTRIES:
                    break
        self.size = len(self.valid_indices)

    return update


def map_summary(valobj, _dict):
    """How many entries there are, though fewer are listed."""
    value = valobj.GetNonSyntheticValue()
    for _ in range(5):
        items = member(value, "table", "table", "items")
        if items.IsValid():
            items = items.GetValueAsUnsigned()
            shown = ", the first %d listed" % MAX_ENTRIES if items > MAX_ENTRIES else ""
            return "size=%d%s" % (items, shown)
        value = value.GetChildAtIndex(0).GetNonSyntheticValue()
    return None


def replace(providers, lookup):
    """Puts what is safe in the place of what can hang; both modules hold the names."""
    providers.ClangEncodedEnumProvider._getCurrentVariantIndex = variant_index
    hash_map = providers.StdHashMapSyntheticProvider
    hash_map.update = map_update(hash_map.update)
    functions = {
        "StdStringSummaryProvider": string_summary,
        "StdOsStringSummaryProvider": os_string_summary,
        "StdStrSummaryProvider": str_summary,
        "StdPathSummaryProvider": str_summary,
        "StdStringSyntheticProvider": NoChildren,
    }
    for name, function in functions.items():
        setattr(providers, name, function)
        setattr(lookup, name, function)


def __lldb_init_module(debugger, _dict):
    commands = os.path.join(ETC, "lldb_commands")
    if not os.path.isfile(commands):
        return
    sys.path.insert(0, ETC)
    try:
        debugger.HandleCommand('command script import "%s"' % os.path.join(ETC, "lldb_lookup.py"))
        import lldb_lookup
        import lldb_providers
    except ImportError as error:
        print("Rust values are shown raw: %s" % error)
        return
    finally:
        sys.path.remove(ETC)
    missing = [name for name in REPLACED if not hasattr(lldb_providers, name)]
    if missing:
        print("Rust values are shown raw: these formatters are not known: %s" % ", ".join(missing))
        return
    replace(lldb_providers, lldb_lookup)
    debugger.HandleCommand('command source -s 1 "%s"' % commands)
    module, category = __name__, "--category Rust"
    string = '"^(alloc::([a-z_]+::)+)String$"'
    text = '"^&(mut )?str$"'
    maps = '"^(std::collections::([a-z_]+::)+)Hash(Map|Set)<.+>$"'
    for command in (
        # A byte is a number in Rust.
        f'type format add --format "unsigned decimal" {category} "unsigned char"',
        f'type format add --format decimal {category} "signed char"',
        f"type synthetic add -l {module}.NoChildren -x {string} {category}",
        f"type summary add -F {module}.string_summary -e -x -h {string} {category}",
        f"type synthetic add -l {module}.NoChildren -x {text} {category}",
        f"type summary add -F {module}.str_summary -e -x -h {text} {category}",
        f"type summary add -F {module}.map_summary -e -x -h {maps} {category}",
    ):
        debugger.HandleCommand(command)
