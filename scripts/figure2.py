#!/usr/bin/env python3
"""Draw Figure 2 of Petterson et al. 2009: NDCG at 1 to 10 of every ranker, a panel for each set.

    scripts/figure2.py TITLE=COMPARISON.json ... -o docs/figure2.svg

Each file is what `ordain compare ... --metric ndcg@1,...,ndcg@10 --json` printed; what it says of published methods is drawn
with broken lines. The same files give the same bytes.
"""

import argparse
import colorsys
import json
from html import escape
from pathlib import Path

PANEL, GAP, TOP, LEFT, ROW, PER_ROW = (330, 300), 34, 34, 46, 17, 5
PLACES = range(1, 11)


def colour(n):
    """One of some colours that are apart from each other."""
    red, green, blue = colorsys.hls_to_rgb((n * 0.618034) % 1, (0.32, 0.45, 0.38)[n % 3], 0.85)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))


def curves(path):
    """Names with their ten values, ours and published ones."""
    said = json.loads(path.read_text())
    ours = {own["label"]: [own["metrics"][f"ndcg@{k}"]["fold_mean"] for k in PLACES] for own in said["methods"]}
    others = {name: [row[f"ndcg@{k}"] for k in PLACES] for name, row in (said.get("published") or {}).items()}
    return ours, others


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("panels", nargs="+", metavar="TITLE=FILE")
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    panels = [(title, *curves(Path(path))) for title, _, path in (panel.partition("=") for panel in asked.panels)]
    names = list(dict.fromkeys(name for _, ours, _ in panels for name in ours))
    published = list(dict.fromkeys(name for _, _, others in panels for name in others))
    look = {name: (colour(n), "") for n, name in enumerate(names)}
    look |= {f"published: {name}": (colour(n + 3), ' stroke-dasharray="5 4"') for n, name in enumerate(published)}
    width = len(panels) * (PANEL[0] + LEFT + GAP)
    height = TOP + PANEL[1] + 52 + ROW * -(-len(look) // PER_ROW)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        "<title>NDCG at 1 to 10 of every ranker</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for at, (title, ours, others) in enumerate(panels):
        left = at * (PANEL[0] + LEFT + GAP) + LEFT
        right, bottom = left + PANEL[0], TOP + PANEL[1]
        values = [value for row in [*ours.values(), *others.values()] for value in row]
        low, high = min(values) - 0.005, max(values) + 0.005
        x = lambda k: left + (k - 1) / 9 * PANEL[0]
        y = lambda value: bottom - (value - low) / (high - low) * PANEL[1]
        out.append(f'<text x="{(left + right) / 2:.0f}" y="20" text-anchor="middle" font-size="14">{escape(title)}</text>')
        for step in range(int(low * 50) + 1, int(high * 50) + 1):
            out.append(f'<path d="M{left} {y(step / 50):.1f}H{right}" stroke="#ddd"/>')
            out.append(f'<text x="{left - 6}" y="{y(step / 50) + 4:.1f}" text-anchor="end">{step / 50:.2f}</text>')
        out += [f'<text x="{x(k):.1f}" y="{bottom + 16}" text-anchor="middle">{k}</text>' for k in PLACES]
        out.append(f'<text x="{(left + right) / 2:.0f}" y="{bottom + 32}" text-anchor="middle">k of NDCG@k</text>')
        rows = [*ours.items(), *((f"published: {name}", row) for name, row in others.items())]
        for name, row in rows:
            line = " ".join(f"{x(k):.1f},{y(value):.1f}" for k, value in zip(PLACES, row, strict=True))
            stroke, dash = look[name]
            wide = 2.6 if name == "rankmatch" else 1.3
            out.append(f'<polyline points="{line}" fill="none" stroke="{stroke}" stroke-width="{wide}"{dash}><title>{escape(name)}</title></polyline>')
    for n, (name, (stroke, dash)) in enumerate(look.items()):
        left, top = LEFT + n % PER_ROW * (width - LEFT) / PER_ROW, TOP + PANEL[1] + 52 + n // PER_ROW * ROW
        out.append(f'<path d="M{left:.0f} {top - 4}h26" stroke="{stroke}" stroke-width="2"{dash}/><text x="{left + 32:.0f}" y="{top}">{escape(name)}</text>')
    asked.output.write_text("\n".join([*out, "</svg>", ""]))


if __name__ == "__main__":
    main()
