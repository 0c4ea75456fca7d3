// The one node: module of this layer.
import { hash } from 'node:crypto';
export const width: number = hash('sha256', 'a').length;
