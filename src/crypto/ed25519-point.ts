/**
 * Just enough curve arithmetic (RFC 8032 section 5.1) to say whether a public key is canonical, on the curve and of
 * prime order. Slow (about a millisecond), public data only, never used to sign or verify.
 */
const p: bigint = 2n ** 255n - 19n;
const groupOrder: bigint = 2n ** 252n + 27742317777372353535851937790883648493n;
const d: bigint = mod(-121665n * power(121666n, p - 2n));
const squareRootOfMinusOne: bigint = power(2n, (p - 1n) / 4n);

/** Extended coordinates: x = X/Z, y = Y/Z, T = XY/Z. */
interface Point {
  readonly X: bigint;
  readonly Y: bigint;
  readonly Z: bigint;
  readonly T: bigint;
}

const identity: Point = { X: 0n, Y: 1n, Z: 1n, T: 0n };

/** True iff the 32 bytes are the one canonical encoding of a point A with A ≠ O and [L]A = O. Pure. */
export function hasPrimeOrder(raw: Uint8Array): boolean {
  const point = decodePoint(raw);
  if (point === undefined || isIdentity(point)) return false;
  return isIdentity(multiply(point, groupOrder));
}

function decodePoint(raw: Uint8Array): Point | undefined {
  if (raw.length !== 32) return undefined;
  let y = 0n;
  for (let index = 31; index >= 0; index -= 1) y = (y << 8n) | BigInt(raw[index] as number);
  const sign = y >> 255n;
  y &= (1n << 255n) - 1n;
  if (y >= p) return undefined;
  const x = recoverX(y, sign);
  return x === undefined ? undefined : { X: x, Y: y, Z: 1n, T: mod(x * y) };
}

function recoverX(y: bigint, sign: bigint): bigint | undefined {
  const square = mod((y * y - 1n) * power(mod(d * y * y + 1n), p - 2n));
  let x = power(square, (p + 3n) / 8n);
  if (mod(x * x - square) !== 0n) x = mod(x * squareRootOfMinusOne);
  if (mod(x * x - square) !== 0n) return undefined;
  if (x === 0n && sign === 1n) return undefined;
  return (x & 1n) === sign ? x : p - x;
}

function multiply(point: Point, scalar: bigint): Point {
  let result = identity;
  let addend = point;
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = add(result, addend);
    addend = add(addend, addend);
  }
  return result;
}

/** Complete addition of RFC 8032 section 5.1.4: also right for doubling and for the identity. */
function add(left: Point, right: Point): Point {
  const A = mod((left.Y - left.X) * (right.Y - right.X));
  const B = mod((left.Y + left.X) * (right.Y + right.X));
  const C = mod(2n * left.T * right.T * d);
  const D = mod(2n * left.Z * right.Z);
  const [E, F, G, H] = [B - A, D - C, D + C, B + A];
  return { X: mod(E * F), Y: mod(G * H), Z: mod(F * G), T: mod(E * H) };
}

function isIdentity(point: Point): boolean {
  return point.X === 0n && point.Y === point.Z;
}

function mod(value: bigint): bigint {
  const rest = value % p;
  return rest < 0n ? rest + p : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let factor = mod(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = mod(result * factor);
    factor = mod(factor * factor);
  }
  return result;
}
