"""Makes mutants of a program: copies with one small fault each. This file runs in the sandbox, as the program of a job."""

import ast


def _both_ways(*pairs):
    return {a: b for pair in pairs for a, b in (pair, pair[::-1])}


OPERATORS = {
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    **_both_ways((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    **_both_ways((ast.Add, ast.Sub), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr)),
}
NAMES = {
    "sorted": "list",
    **_both_ways(("min", "max"), ("any", "all"), ("lower", "upper")),
    **_both_ways(("startswith", "endswith"), ("isdigit", "isalpha")),
}


def mutants(source, limit):
    """Returns up to `limit` mutants, spread over the program. The same program always has the same mutants."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    found = {}
    for node in list(ast.walk(tree)):
        fields = {name: list(value) if isinstance(value, list) else value for name, value in vars(node).items()}
        if _mutate(node):
            text = ast.unparse(tree)
            if text != original:
                found[text] = True
            vars(node).update(fields)
    every = list(found)
    count = min(limit, len(every))
    return [every[i * len(every) // count] for i in range(count)]


def _mutate(node):
    """Changes the node in place. Returns False if there is no mutation for it."""
    if isinstance(node, ast.Compare):
        return _swap(node.ops[0], lambda new: node.ops.__setitem__(0, new))
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)):
        return _swap(node.op, lambda new: setattr(node, "op", new))
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return True
    if isinstance(node, ast.comprehension) and node.ifs:
        node.ifs[0] = ast.UnaryOp(ast.Not(), node.ifs[0])
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
        return True
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Name) and node.id in NAMES:
        node.id = NAMES[node.id]
        return True
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        node.attr = NAMES[node.attr]
        return True
    return False


def _swap(operator, assign):
    other = OPERATORS.get(type(operator))
    if other is not None:
        assign(other())
    return other is not None


def _constant(node):
    if isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node.value, (int, float)):
        node.value += 1
    else:
        return False
    return True
