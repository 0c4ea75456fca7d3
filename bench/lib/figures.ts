/** Figures and their floors, measured in one run, printed as a table and as JSON. */
import { cpus } from 'node:os';

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What it is held against, measured beside it. */
  readonly floor?: { readonly what: string; readonly value: number };
  readonly target: string;
  readonly met: boolean;
}

/** Median and 95th percentile. Throws on an empty list. */
export function quantiles(values: readonly number[]): { readonly p50: number; readonly p95: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
    if (value === undefined) throw new Error('no measurements');
    return value;
  };
  return { p50: at(0.5), p95: at(0.95) };
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A figure whose target is a ratio to a floor of the same unit. */
export function ratioFigure(options: {
  what: string;
  value: number;
  unit: string;
  floor: { what: string; value: number };
  atMost: number;
}): Figure {
  const { atMost, ...rest } = options;
  return { ...rest, target: `≤ ${atMost} × floor`, met: options.value <= atMost * options.floor.value };
}

/** A figure with a floor for orientation and an absolute target. */
export function rateFigure(options: {
  what: string;
  value: number;
  unit: string;
  floor?: { what: string; value: number };
  atLeast: number;
}): Figure {
  const { atLeast, ...rest } = options;
  return { ...rest, target: `≥ ${atLeast} ${options.unit}`, met: options.value >= atLeast };
}

/** A figure that is to stay below an absolute target. */
export function ceilingFigure(options: { what: string; value: number; unit: string; atMost: number }): Figure {
  const { atMost, ...rest } = options;
  return { ...rest, target: `≤ ${atMost} ${options.unit}`.trimEnd(), met: options.value <= atMost };
}

/** One line per figure, widths fitted. */
export function printTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, value, unit, floor, target, met }) => [
    what,
    `${round(value)} ${unit}`,
    floor === undefined ? '' : `${round(floor.value)} ${unit} (${floor.what})`,
    floor === undefined ? '' : `${round(value / floor.value)} ×`,
    target,
    met ? 'met' : 'MISSED',
  ]);
  const table = [['what', 'figure', 'floor', 'ratio', 'target', ''], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The machine that the figures are of. */
export function machine(): string {
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.version}`;
}

function round(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
