"""The shapes of the models, and the bytes that they read per step."""

from dataclasses import dataclass


# --8<-- [start:config]
@dataclass(frozen=True)
class Config:
    layers: int
    heads: int
    kv_heads: int
    d: int
    vocabulary: int
    context: int

    @property
    def width(self) -> int:
        return self.heads * self.d

    @property
    def weights(self) -> int:
        """Numbers that every token multiplies: four matrices per layer, biases and norms, and the output layer."""
        width, qkv = self.width, self.width + 2 * self.kv_heads * self.d
        layer = width * qkv + qkv + width * width + width + 8 * width * width + 5 * width + 4 * width
        return self.layers * layer + 2 * width + self.vocabulary * width

    @property
    def token_bytes(self) -> int:
        """What one token adds to the cache: a key and a value per layer and head of keys, in fp16."""
        return 2 * self.layers * self.kv_heads * self.d * 2

    def step_bytes(self, batch: int, tokens: int) -> int:
        """What a step must read for `batch` sequences with `tokens` tokens in each cache: weights once, every cache."""
        return 2 * self.weights + batch * tokens * self.token_bytes


GPT2 = Config(12, 12, 12, 64, 50257, 1024)
SMALL = Config(2, 4, 2, 64, 300, 160)
# --8<-- [end:config]

# --8<-- [start:bound]
BATCHES = (1, 2, 4, 8, 16, 32, 64)
RATE = 4.2e12  # bytes per second, of a copy on an H200: for bounds before anything is measured


def bound(weight_bytes: float, token_bytes: float, tokens: int, batch: int) -> float:
    """Tokens per second at which the weights, read once, and all caches pass at RATE."""
    return batch * RATE / (weight_bytes + batch * tokens * token_bytes)


# --8<-- [end:bound]
