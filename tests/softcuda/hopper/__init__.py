"""Golden results of Hopper's own instructions (sm_90a), and NumPy references that reproduce them.

`record.py` makes the archives below golden/ on a GPU; the tests here need none.
"""

from __future__ import annotations

from collections.abc import Callable


def families() -> dict[str, Callable[[], list]]:
    """The archives by name, and what makes the cases of each."""
    from hopper import clusters, copies, maps, products

    return {
        "products": products.product_cases,
        "layouts": products.layout_cases,
        "maps": maps.map_cases,
        "copies": copies.copy_cases,
        "stores": copies.store_cases,
        "clusters": clusters.cluster_cases,
        "faults": lambda: [*copies.fault_cases(), *products.fault_cases()],
    }
