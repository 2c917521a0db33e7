"""Published figures as what they are: roundings. And the rows that this article recomputes.

A printed number stands for all numbers that round to it: "4.5" for 4.45 to 4.55, "1,555" for 1554.5 to 1555.5. A row
passes if some inputs that round to the printed inputs give a result that rounds to the printed result.
"""

# --8<-- [start:printed]
from dataclasses import dataclass
from decimal import Decimal
from math import prod


def interval(text: str) -> tuple[float, float]:
    """All numbers that round to the number printed as `text`."""
    number = Decimal(text.replace(",", ""))
    half = Decimal(1).scaleb(number.as_tuple().exponent) / 2  # of the last digit
    return float(number - half), float(number + half)


@dataclass(frozen=True)
class Row:
    """`printed` ought to be `scale` times the inputs, each to its power."""

    where: str
    what: str
    printed: str
    scale: float = 1.0
    inputs: tuple[tuple[str, int], ...] = ()  # a name, where no number is said

    @property
    def untold(self) -> list[str]:
        return [text for text, _ in self.inputs if not text[0].isdigit()]

    def range(self) -> tuple[float, float]:
        """The least and the greatest that the inputs allow."""
        ends = [sorted(end**power for end in interval(x)) for x, power in self.inputs]
        low, high = zip(*ends, strict=True) if ends else ((), ())
        return self.scale * prod(low), self.scale * prod(high)

    def verdict(self) -> str:
        if self.untold:
            return "cannot be told"
        (low, high), (least, most) = self.range(), interval(self.printed)
        return "passes" if low <= most and least <= high else "fails"


# --8<-- [end:printed]


# --8<-- [start:count]
def swin(width: int, depths: tuple[int, ...], window: int = 7, image: int = 224) -> tuple[int, int]:
    """Parameters, and multiply-adds of one image, of a Swin Transformer."""
    side, c = image // 4, width
    parameters = 48 * c + c + 2 * c  # patches of 4 x 4 x 3, and a layer norm
    multiplies = side**2 * 48 * c
    for stage, depth in enumerate(depths):
        bias = (c // 32) * (2 * window - 1) ** 2  # a table of relative positions for each head of 32
        parameters += depth * (12 * c**2 + 9 * c + bias + 4 * c)  # attention, MLP; their biases; two layer norms
        multiplies += depth * (12 * side**2 * c**2 + 2 * window**2 * side**2 * c)
        if stage < len(depths) - 1:  # four neighbours become one, twice as wide
            side //= 2
            parameters += 8 * c**2 + 8 * c
            multiplies += side**2 * 8 * c**2
            c *= 2
    return parameters + 2 * c + 1000 * c + 1000, multiplies + 1000 * c


def gfnet(width: int, depth: int, side: int = 14) -> tuple[int, int]:
    """The same of a GFNet that keeps its width. The filter's share of the second is the paper's formula."""
    tokens = side**2
    filters = side * (side // 2 + 1) * width * 2  # complex, half of the spectrum
    parameters = 768 * width + width + tokens * width + depth * (filters + 8 * width**2 + 9 * width)
    mixing = tokens * width * (tokens - 1).bit_length() + tokens * width
    multiplies = tokens * 768 * width + depth * (mixing + tokens * 8 * width**2)
    return parameters + 2 * width + 1000 * width + 1000, multiplies + 1000 * width


# --8<-- [end:count]


def counted(where: str, what: str, printed: str, count: int, unit: float) -> Row:
    """A row whose other side is an exact count."""
    return Row(where, what, printed, count / unit)


def rows() -> list[Row]:
    ais, sb, paper, readme, gf = "AIS", "SB", "Swin, paper", "Swin, README", "GFNet, README"
    found = [
        Row(ais, "A100: bytes per latency", "628,220", 1, (("1555", 1), ("404", 1))),
        Row(ais, "8280: bytes per latency, table 1", "12,727", 1, (("143", 1), ("89", 1))),
        Row(ais, "8280: bytes per latency, table 2", "11,659", 1, (("131", 1), ("89", 1))),
        Row(ais, "8280: bandwidth, table 2 from 1", "131", 1, (("143", 1),)),
        Row(ais, "A100: threads, 16 bytes each", "39,264", 1 / 16, (("628,220", 1),)),
        Row(ais, "7742: threads", "1,556", 1 / 16, (("24,888", 1),)),
        Row(ais, "8280: threads, table 1", "729", 1 / 16, (("12,727", 1),)),
        Row(ais, "8280: threads, from table 2", "729", 1 / 16, (("11,659", 1),)),
        Row(ais, "8280: ratio of threads", "1.2", 1, (("896", 1), ("729", -1))),
        Row(ais, "A100: ratio of threads", "5.6", 1, (("221,184", 1), ("39,264", -1))),
        Row(ais, "A100: threads of 108 SMs", "221,184", 108 * 2048),
        Row(ais, "A100: L1 in all, MB", "20", 108 * 192 / 1000),
        Row(ais, "A100: L1 in all, MiB", "20", 108 * 192 / 1024),
        Row(ais, "A100: L2 latency over L1", "5", 1, (("150", 1), ("27", -1))),
        Row(ais, "A100: L1 rate over HBM, as printed", "13", 1, (("19,400", 1), ("1,555", -1))),
        Row(ais, "A100: the same, of three digits", "13", 1, (("1.94e4", 1), ("1,555", -1))),
        Row(ais, "A100: threads for PCIe", "2297", 1 / 16, (("25", 1), ("1470", 1))),
        Row(ais, "A100: HBM, operations a double", "100", 8000, (("peak", 1), ("1,555", -1))),
        Row(sb, "work of one product, GFLOP", "137", (2 * 4092**3 + 4092**2) / 1e9),
        Row(sb, "traffic at least, MB", "268", 4 * 4 * 4092**2 / 1e6),
    ]
    for kernel, rate, share in (
        ("1: naive", "309.0", "1.3"),
        ("2: coalescing", "1986.5", "8.5"),
        ("3: shared memory", "2980.3", "12.8"),
        ("4: 1D block tiles", "8474.7", "36.5"),
        ("5: 2D block tiles", "15971.7", "68.7"),
        ("7: no conflicts, linear", "16213.4", "69.7"),
        ("8: no conflicts, offset", "16459.2", "70.8"),
        ("11: double buffers", "17278.3", "74.3"),
        ("6: vectorised", "18237.3", "78.4"),
        ("9: tuned", "19721.0", "84.8"),
        ("10: warp tiles", "21779.3", "93.7"),
    ):
        found.append(Row(sb, f"{kernel}, %", share, 100, ((rate, 1), ("23249.6", -1))))
    shapes = {"T": (96, (2, 2, 6, 2)), "S": (96, (2, 2, 18, 2)), "B": (128, (2, 2, 18, 2)), "L": (192, (2, 2, 18, 2))}
    for where, name, millions, billions in (
        (paper, "T", "29", "4.5"),
        (paper, "S", "50", "8.7"),
        (paper, "B", "88", "15.4"),
        (readme, "T", "28", "4.5"),
        (readme, "L", "197", "34.5"),
    ):
        parameters, multiplies = swin(*shapes[name])
        found.append(counted(where, f"Swin-{name}: parameters, M", millions, parameters, 1e6))
        found.append(counted(where, f"Swin-{name}: multiply-adds, G", billions, multiplies, 1e9))
    larger = swin(*shapes["B"], window=12, image=384)[1]
    for where, said in ((paper, "47.0"), (readme, "47.1")):
        found.append(counted(where, "Swin-B at 384: multiply-adds, G", said, larger, 1e9))
    found.append(counted(paper, "Swin-T: operations, G", "4.5", 2 * swin(*shapes["T"])[1], 1e9))
    found.append(Row(paper, "Swin-T: images a second", "755.2", 1, (("batch size", 1),)))
    found.append(Row(paper, "Swin-T: accuracy, %", "81.3", 1, (("weights", 1),)))
    for name, width, depth, millions, billions in (
        ("Ti", 256, 12, "7", "1.3"),
        ("XS", 384, 12, "16", "2.8"),
        ("S", 384, 19, "25", "4.5"),
        ("B", 512, 19, "43", "7.9"),
    ):
        parameters, multiplies = gfnet(width, depth)
        found.append(counted(gf, f"GFNet-{name}: parameters, M", millions, parameters, 1e6))
        found.append(counted(gf, f"GFNet-{name}: multiply-adds, G", billions, multiplies, 1e9))
    return found
