/**
 * Bytes outside the heap. V8 learns of 64 MiB of them before it collects what nobody holds any more, and by then they lie
 * scattered over memory that the allocator cannot give back: whoever reads a long log gives back what it has used.
 */

/** Frees the bytes of a buffer that nobody reads any more: it is empty afterwards. One that shares its bytes stays. */
export function releaseBuffer(buffer: Buffer): void {
  const { buffer: bytes } = buffer;
  if (bytes instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength) bytes.transfer(0);
}
