"""Colours as others see them: sRGB, CIELAB, CIEDE2000, and three kinds of colour blindness by Machado's matrices."""

import numpy as np

# --8<-- [start:simulate]
MATRICES = {  # of linear RGB, at full severity: Machado, Oliveira and Fernandes, 2009
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(srgb: np.ndarray) -> np.ndarray:
    """From stored values in 0 … 1 to amounts of light."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def stored(light: np.ndarray) -> np.ndarray:
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def simulate(srgb: np.ndarray, kind: str) -> np.ndarray:
    """sRGB colours (…, 3) as somebody with this kind of colour blindness sees them."""
    return stored(linear(srgb) @ np.array(MATRICES[kind]).T) if kind else srgb


# --8<-- [end:simulate]


def lab(srgb: np.ndarray) -> np.ndarray:
    """CIELAB under D65: lightness, green to red, blue to yellow."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    share = linear(srgb) @ np.array(to_xyz).T / np.sum(to_xyz, 1)
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


# --8<-- [start:difference]
def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """CIEDE2000 between CIELAB colours (…, 3)."""
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    a1, a2 = stretch * a1, stretch * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    grey = c1 * c2 == 0
    turn = np.where(grey, 0, (h2 - h1 + 180) % 360 - 180)
    turn = np.where(~grey & (np.abs(h2 - h1) == 180), h2 - h1, turn)
    hue = np.where(grey, h1 + h2, (h1 + h2) / 2)
    hue = np.where(~grey & (np.abs(h1 - h2) > 180), np.where(h1 + h2 < 360, hue + 180, hue - 180), hue)
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    waves = ((0.17, 1, 30), (-0.24, 2, 0), (-0.32, 3, -6), (0.20, 4, 63))
    t = 1 - sum(w * np.cos(np.radians(k * hue - shift)) for w, k, shift in waves)
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    bend = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7)) * bend
    return np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)


# --8<-- [end:difference]

SHARMA = np.array([  # two colours and their difference: pairs of Sharma, Wu and Dalal, 2005, made to find mistakes
    [50.0000, 2.6772, -79.7751, 50.0000, 0.0000, -82.7485, 2.0425],
    [50.0000, -1.3802, -84.2814, 50.0000, 0.0000, -82.7485, 1.0000],
    [50.0000, 0.0000, 0.0000, 50.0000, -1.0000, 2.0000, 2.3669],
    [50.0000, 2.4900, -0.0010, 50.0000, -2.4900, 0.0009, 7.1792],
    [50.0000, 2.4900, -0.0010, 50.0000, -2.4900, 0.0012, 7.2195],
    [50.0000, -0.0010, 2.4900, 50.0000, 0.0009, -2.4900, 4.8045],
    [50.0000, -0.0010, 2.4900, 50.0000, 0.0011, -2.4900, 4.7461],
    [50.0000, 2.5000, 0.0000, 50.0000, 0.0000, -2.5000, 4.3065],
    [50.0000, 2.5000, 0.0000, 73.0000, 25.0000, -18.0000, 27.1492],
    [50.0000, 2.5000, 0.0000, 61.0000, -5.0000, 29.0000, 22.8977],
    [50.0000, 2.5000, 0.0000, 56.0000, -27.0000, -3.0000, 31.9030],
    [50.0000, 2.5000, 0.0000, 58.0000, 24.0000, 15.0000, 19.4535],
    [50.0000, 2.5000, 0.0000, 50.0000, 3.2592, 0.3350, 1.0000],
    [60.2574, -34.0099, 36.2677, 60.4626, -34.1751, 39.4387, 1.2644],
    [22.7233, 20.0904, -46.6940, 23.0331, 14.9730, -42.5619, 2.0373],
    [90.9257, -0.5406, -0.9208, 88.6381, -0.8985, -0.7239, 1.5381],
    [6.7747, -0.2908, -2.4247, 5.8714, -0.0985, -2.2286, 0.6377],
    [2.0776, 0.0795, -1.1350, 0.9033, -0.0636, -0.5514, 0.9082],
])  # fmt: skip


def colours(text: str) -> np.ndarray:
    """ "#1d7f5c #3566c4" as sRGB in 0 … 1, (colour, 3)."""
    return np.array([[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in text.split()]) / 255


def least(srgb: np.ndarray, kind: str = "") -> tuple[float, int, int]:
    """The smallest difference between two of these colours, seen with this kind of colour blindness; and which two."""
    seen = lab(simulate(srgb, kind))
    apart = difference(seen[:, None], seen[None])
    apart[np.tril_indices(len(seen))] = np.inf
    i, j = np.unravel_index(apart.argmin(), apart.shape)
    return float(apart[i, j]), int(i), int(j)
