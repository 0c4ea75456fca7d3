"""ECDSA on the curves of FIPS 186-4: slow, no dependencies, not constant time. For make-vectors.py only."""
import hashlib


class Curve:
    """y^2 = x^3 - 3x + b over the integers modulo p; points are (x, y), None is infinity."""
    def __init__(self, name, hash_name, p, b, n, gx, gy):
        self.name, self.hash_name, self.p, self.b, self.n, self.G = name, hash_name, p, b, n, (gx, gy)
        self.width = (p.bit_length() + 7) // 8

    def add(self, P, Q):
        if P is None or Q is None:
            return P or Q
        if P[0] == Q[0]:
            if (P[1] + Q[1]) % self.p == 0:
                return None
            slope = (3 * P[0] * P[0] - 3) * pow(2 * P[1], -1, self.p)
        else:
            slope = (Q[1] - P[1]) * pow(Q[0] - P[0], -1, self.p)
        x = (slope * slope - P[0] - Q[0]) % self.p
        return (x, (slope * (P[0] - x) - P[1]) % self.p)

    def mul(self, scalar, P):
        result = None
        while scalar:
            if scalar & 1:
                result = self.add(result, P)
            P = self.add(P, P)
            scalar >>= 1
        return result

    def lift(self, x):
        """A point with this x, or None. p = 3 mod 4 for all three curves."""
        square = (x * x * x - 3 * x + self.b) % self.p
        y = pow(square, (self.p + 1) // 4, self.p)
        return (x, y) if y * y % self.p == square else None

    def encode(self, P, form=4):
        x, y = (coordinate.to_bytes(self.width, "big") for coordinate in P)
        return bytes([form]) + x + (b"" if form in (2, 3) else y)

    def digest(self, data):
        wide = hashlib.new(self.hash_name, data).digest()
        return int.from_bytes(wide, "big") >> max(0, len(wide) * 8 - self.n.bit_length())

    def sign(self, d, data):
        """The nonce is a hash of secret and data: enough for vectors, whose secrets are public."""
        seed = d.to_bytes(self.width, "big") + data
        k = int.from_bytes(hashlib.sha512(seed + b"0").digest() + hashlib.sha512(seed + b"1").digest(), "big") % self.n
        r = self.mul(k, self.G)[0] % self.n
        s = pow(k, -1, self.n) * (self.digest(data) + r * d) % self.n
        return r, s


P256 = Curve(
    "nistp256", "sha256", 2**256 - 2**224 + 2**192 + 2**96 - 1,
    0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
P384 = Curve(
    "nistp384", "sha384", 2**384 - 2**128 - 2**96 + 2**32 - 1,
    0xB3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF,
    0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
    0xAA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B9859F741E082542A385502F25DBF55296C3A545E3872760AB7,
    0x3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147CE9DA3113B5F0B8C00A60B1CE1D7E819D7A431D7C90EA0E5F,
)
P521 = Curve(
    "nistp521", "sha512", 2**521 - 1,
    0x51953EB9618E1C9A1F929A21A0B68540EEA2DA725B99B315F3B8B489918EF109E156193951EC7E937B1652C0BD3BB1BF073573DF883D2C34F1EF451FD46B503F00,
    0x1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409,
    0xC6858E06B70404E9CD9E3ECB662395B4429C648139053FB521F828AF606B4D3DBAA14B5E77EFE75928FE1DC127A2FFA8DE3348B3C1856A429BF97E7E31C2E5BD66,
    0x11839296A789A3BC0045C8A5FB42C7D1BD998F54449579B446817AFBD17273E662C97EE72995EF42640C550B9013FAD0761353C7086A272C24088BE94769FD16650,
)
for curve in (P256, P384, P521):
    assert curve.mul(curve.n, curve.G) is None and curve.lift(curve.G[0]) is not None
