# For each file of a list, with three idioms put in at the start of statements: the spliced source, and what IPython makes of it.
import ast, json, random, sys
from IPython.core.inputtransformer2 import TransformerManager

IDIOMS = ["!ls -l {x}", "%cd /tmp", "y9 = !echo 'a b'", "z9 = %pwd", "print?", "??len", "!!date", "%time 1 + 1", "!echo a \\\n   b"]
random.seed(7)
manager, out = TransformerManager(), []


class Calls(ast.NodeTransformer):
    """IPython's calls and ours mean the same under one name."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = ast.unparse(node.func)
        value = lambda i: node.args[i].value
        if name == "get_ipython().run_line_magic":
            return ast.copy_location(ast.parse("line(%r, %r)" % (value(0), value(1).strip()), mode="eval").body, node)
        if name in ("get_ipython().system", "get_ipython().getoutput"):
            return ast.copy_location(ast.parse("%s(%r)" % (name.split(".")[1], value(0).strip()), mode="eval").body, node)
        if name == "__agent__.line":
            return ast.copy_location(ast.parse("line(%r, %r)" % (value(0), value(1).strip()), mode="eval").body, node)
        if name in ("__agent__.system", "__agent__.getoutput"):
            return ast.copy_location(ast.parse("%s(%r)" % (name.split(".")[1], value(0).strip()), mode="eval").body, node)
        return node


def shape(source):
    try:
        return ast.dump(Calls().visit(ast.parse(source)))
    except SyntaxError:
        return None


mode = sys.argv[1]
for item in json.load(sys.stdin):
    if mode == "splice":
        try:
            text = open(item, encoding="utf-8").read()
            tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        if "\r" in text or "\f" in text or len(text) > 60000:
            continue
        lines = text.split("\n")
        places = sorted({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)
                         and lines[node.lineno - 1][:node.col_offset].strip() == ""
                         and not getattr(node, "decorator_list", None)})
        if len(places) < 5:
            continue
        for place in sorted(random.sample(places, 3), reverse=True):
            indent = lines[place - 1][:len(lines[place - 1]) - len(lines[place - 1].lstrip())]
            lines[place - 1:place - 1] = (indent + random.choice(IDIOMS)).split("\n")
        out.append("\n".join(lines))
    else:
        source, ours = item
        # IPython's own line count differs for a continued command, so the shape is compared, not the places.
        out.append([shape(manager.transform_cell(source)), shape(ours)])
json.dump(out, sys.stdout)
