"""ed25519 after the Python of RFC 8032, section 6: slow, no dependencies. For make-vectors.py only."""
import hashlib

p = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
d = -121665 * pow(121666, p - 2, p) % p
sqrt_m1 = pow(2, (p - 1) // 4, p)


def add(P, Q):
    A, B = (P[1] - P[0]) * (Q[1] - Q[0]) % p, (P[1] + P[0]) * (Q[1] + Q[0]) % p
    C, D = 2 * P[3] * Q[3] * d % p, 2 * P[2] * Q[2] % p
    E, F, G, H = B - A, D - C, D + C, B + A
    return (E * F % p, G * H % p, F * G % p, E * H % p)


def mul(s, P):
    Q = (0, 1, 1, 0)
    while s > 0:
        if s & 1:
            Q = add(Q, P)
        P = add(P, P)
        s >>= 1
    return Q


def recover_x(y, sign):
    x2 = (y * y - 1) * pow(d * y * y + 1, p - 2, p) % p
    x = pow(x2, (p + 3) // 8, p)
    if (x * x - x2) % p != 0:
        x = x * sqrt_m1 % p
    if (x * x - x2) % p != 0:
        return None
    return x if (x & 1) == sign else p - x


def point(y, sign):
    x = recover_x(y, sign)
    return (x, y, 1, x * y % p)


g_y = 4 * pow(5, p - 2, p) % p
G = point(g_y, 0)


def compress(P):
    zinv = pow(P[2], p - 2, p)
    x, y = P[0] * zinv % p, P[1] * zinv % p
    return int.to_bytes(y | ((x & 1) << 255), 32, "little")


def h(data):
    return int.from_bytes(hashlib.sha512(data).digest(), "little")


def expand(seed):
    wide = hashlib.sha512(seed).digest()
    a = int.from_bytes(wide[:32], "little")
    a &= (1 << 254) - 8
    a |= 1 << 254
    return a, wide[32:]


def public(seed):
    return compress(mul(expand(seed)[0], G))


def sign(seed, message):
    a, prefix = expand(seed)
    A = compress(mul(a, G))
    r = h(prefix + message) % L
    R = compress(mul(r, G))
    s = (r + h(R + A + message) * a) % L
    return R + int.to_bytes(s, 32, "little")


# A point of order 8, and the eight multiples of it.
order8_y = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
T = point(order8_y, 0)
