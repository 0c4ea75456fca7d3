export const tool: number = 1;
