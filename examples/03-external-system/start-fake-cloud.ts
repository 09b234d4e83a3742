// Starts the cloud by hand: node dist/start-fake-cloud.js [port].
import { FakeCloud } from './fake-cloud.ts';

const cloud = await FakeCloud.start({ port: Number(process.argv[2] ?? 8750), now: Date.now });
process.stdout.write(`machines are at ${cloud.url}/machines\n`);
