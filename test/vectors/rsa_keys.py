"""RSA keys that follow from their size alone, and RSASSA-PKCS1-v1_5 (RFC 8017). For make-vectors.py only."""
import hashlib

digest_info = {
    "sha1": "3021300906052b0e03021a05000414",
    "sha256": "3031300d060960864801650304020105000420",
    "sha512": "3051300d060960864801650304020305000440",
}


def derived(label, count):
    parts = [hashlib.sha256(("%s/%d" % (label, index)).encode()).digest() for index in range(-(-count // 32))]
    return b"".join(parts)[:count]


def is_prime(number):
    """Miller-Rabin with fixed bases: nobody chose these numbers to fool it."""
    if any(number % small == 0 for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in range(2, 42):
        x = pow(base, odd, number)
        if x in (1, number - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % number
            if x == number - 1:
                break
        else:
            return False
    return True


def prime(label, bits):
    candidate = int.from_bytes(derived(label, bits // 8), "big") | (3 << (bits - 2)) | 1
    while candidate % 65537 == 1 or not is_prime(candidate):
        candidate += 2
    return candidate


def make(bits):
    p, q, e = prime("memd vectors p", bits // 2), prime("memd vectors q", bits // 2), 65537
    return p * q, e, pow(e, -1, (p - 1) * (q - 1))


def sign(n, d, data, hash_name):
    size = (n.bit_length() + 7) // 8
    info = bytes.fromhex(digest_info[hash_name]) + hashlib.new(hash_name, data).digest()
    padded = b"\0\1" + b"\xff" * (size - 3 - len(info)) + b"\0" + info
    return pow(int.from_bytes(padded, "big"), d, n).to_bytes(size, "big")
