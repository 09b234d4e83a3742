export { HostileProcess } from './hostile-process.ts';
