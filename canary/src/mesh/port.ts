export const port: number = 1;
