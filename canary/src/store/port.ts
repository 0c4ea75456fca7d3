export interface Port {
  readonly number: number;
}
export const port: Port = { number: 1 };
