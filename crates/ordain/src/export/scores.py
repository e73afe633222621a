"""Scores of a model of ordain. Nothing beside the standard library is needed.

    >>> scores([[value of each of COLUMNS], ...])     # or mappings: [{"bm25": 3.1, ...}, ...]

Gives a score for each row, the larger the better; a list of them, in the order of OUTPUTS, where
there are several. None and NaN are missing values. Where SCALE is "query" or "minmax", a call
takes the rows of one query.
"""

import math
import struct

# NUMBERS


def _single(x):
    """The nearest number of single precision, which models see."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def _values(row):
    if hasattr(row, "keys"):
        row = [row[name] for name in COLUMNS]
    if len(row) != len(COLUMNS):
        raise ValueError(f"expected {len(COLUMNS)} values in a row, found {len(row)}")
    values = [math.nan if x is None else _single(float(x)) for x in row]
    if GAPS == "refused":
        for name, x in zip(COLUMNS, values):
            if math.isnan(x):
                raise ValueError(f"expected a value of {name!r}, found none: the model refuses gaps")
    return values


def _level(knots, levels, x):
    above = sum(knot <= x for knot in knots)
    if above == 0:
        return levels[0]
    if above == len(knots):
        return levels[-1]
    low, high = knots[above - 1], knots[above]
    return levels[above - 1] + (levels[above] - levels[above - 1]) * (x - low) / (high - low)


def _transformed(x, transform):
    if transform is None:
        return x
    if transform[0] == "log":
        return _single(math.copysign(math.log1p(abs(x) / transform[1]), x))
    return _single(_level(transform[1], transform[2], x))


def _row(values):
    """A row with its gaps filled, the columns that say where they were, and all transformed."""
    filled = isinstance(GAPS, list)
    row = [GAPS[j] if filled and math.isnan(x) else x for j, x in enumerate(values)]
    row += [float(math.isnan(values[j])) for j in FLAGS]
    return [_transformed(x, t) for x, t in zip(row, TRANSFORMS)] if TRANSFORMS else row


def _spread(column):
    """Offset and factor of a column within one query."""
    low, high, count = min(column), max(column), len(column)
    if SCALE == "minmax":
        offset, width = low, high - low
    else:
        offset = math.fsum(column) / count
        width = math.sqrt(math.fsum((x - offset) ** 2 for x in column) / count)
    if not low < high or width < 1e-38:
        return 0.0, 0.0
    return _single(offset), _single(1.0 / width)


def _scaled(rows):
    if SCALE == "none":
        return rows
    if SCALE == "global":
        spreads = list(zip(OFFSET, FACTOR))
    else:
        spreads = [_spread(column) for column in zip(*rows)]
    return [[(x - offset) * factor for x, (offset, factor) in zip(row, spreads)] for row in rows]


def _kernel(a, b):
    form, gamma, degree, coef0 = KERNEL[:4]
    if form == "poly":
        return (gamma * math.fsum(x * y for x, y in zip(a, b)) + coef0) ** degree
    if form == "intersection":
        return math.fsum(map(min, a, b))
    if form == "rbf":
        apart = math.fsum((x - y) ** 2 for x, y in zip(a, b))
    elif form == "laplace":
        apart = math.fsum(abs(x - y) for x, y in zip(a, b))
    else:
        apart = math.fsum((x - y) ** 2 / (x + y) for x, y in zip(a, b) if x + y > 0)
    return math.exp(-gamma * apart)


def _tree(nodes, values):
    node = nodes[0]
    while isinstance(node, list):
        column, test, gap_left, left, right = node
        x = values[column]
        if math.isnan(x):
            go_left = gap_left
        else:
            go_left = x in test if isinstance(test, list) else x <= test
        node = nodes[left if go_left else right]
    return node


def scores(rows):
    """A score for each row, or a list of them where there are several outputs."""
    data = [_values(row) for row in rows]
    found = []
    for values, row in zip(data, _scaled([_row(values) for values in data])):
        one = list(CONSTANT)
        for o in range(len(one)):
            if WEIGHTS:
                one[o] += sum(WEIGHTS[j * len(one) + o] * x for j, x in enumerate(row))
            if KERNEL is not None:
                x = [_single(value) for value in row]
                one[o] += sum(beta * _kernel(core, x) for core, beta in zip(KERNEL[4], KERNEL[5]))
            one[o] += sum(_tree(nodes, values) for nodes in TREES)
        found.append(one if len(one) > 1 else one[0])
    return found
