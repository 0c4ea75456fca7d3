import type { ZodError } from 'zod';

/** The first thing that is wrong, in one line, and how many more there are: input can be wrong in 100 000 places. Pure. */
export function firstIssue({ issues }: ZodError): string {
  const [first] = issues;
  if (first === undefined) return 'it does not have the right form';
  const where = first.path.length === 0 ? '' : `${first.path.map(String).join('.')}: `;
  const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`;
  return `${where}${first.message}${more}`;
}
