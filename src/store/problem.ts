/** What a verification found wrong: always a file and a place in it. */
export interface Problem {
  /** Path of the damaged file, or of the folder or database that holds it. */
  readonly file: string;
  /** Where in it: an object id, a line number, a table and key. */
  readonly place: string;
  /** What is wrong, one printable sentence. */
  readonly detail: string;
  /** The next command. */
  readonly hint: string;
}
