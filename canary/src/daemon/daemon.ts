export const daemon: number = 1;
