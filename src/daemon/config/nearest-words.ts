/** The two known words that are fewest edits away from `word`, when they are near enough to be meant. Pure. */
export function nearestWords(word: string, known: readonly string[]): string[] {
  const near = known.map((candidate) => ({ candidate, edits: editDistance(word, candidate) }));
  return near
    .filter(({ candidate, edits }) => edits <= Math.max(2, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 2)
    .map(({ candidate }) => candidate);
}

/** Levenshtein distance of two short words. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, left] of a.split('').entries()) {
    const next = [i + 1];
    for (const [j, right] of b.split('').entries()) {
      const replaced = (row[j] ?? 0) + (left === right ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? a.length;
}
