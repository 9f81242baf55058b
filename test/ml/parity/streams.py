"""Numbers that follow from a seed and a name, so that recordings need not hold them; test/support/streams.ts repeats them."""
import zlib

import numpy


def uniform(seed, name, size):
    """`size` numbers in [-0.5, 0.5): a 32-bit mixer over the position in the stream of a name."""
    x = numpy.arange(size, dtype=numpy.uint32) + numpy.uint32(zlib.crc32(f"{seed} {name}".encode()))
    for shift, factor in [(16, 0x7FEB352D), (15, 0x846CA68B)]:
        x ^= x >> numpy.uint32(shift)
        x *= numpy.uint32(factor)
    x ^= x >> numpy.uint32(16)
    return x.astype(numpy.float64) / 2**32 - 0.5
