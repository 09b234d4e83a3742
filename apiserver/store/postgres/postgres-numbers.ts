import type { PostgresConnection } from './postgres-connection.ts';
import * as sql from './postgres-statements.ts';

/** In a transaction, under the counter's lock: a name gets one number, whoever asks first. */
export async function numberOf(connection: PostgresConnection, name: string): Promise<number> {
  await connection.query(sql.lockCounter);
  const [found] = await connection.query<{ id: number }>(sql.getNumber, [name]);
  const [row] = found ? [found] : await connection.query<{ id: number }>(sql.addNumber, [name]);
  return row?.id ?? 0;
}
