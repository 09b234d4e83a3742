import type { ClientCommand } from '../client-command.ts';
import { describeObject } from '../output/describe-object.ts';
import type { DescribedEvent } from '../output/describe-object.ts';
import { readTargets, selectorsOf, targetOfItem } from '../object-arguments.ts';
import type { ObjectTarget } from '../object-arguments.ts';
import { ServerRefusal } from '../object-server.ts';
import { note, print } from '../output/print.ts';
import { isServerObject, objectsAt, serverObject, textAt, valueAt } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';
import { eachItem } from './each-item.ts';

/** `homeostat describe`: prints objects with their fields and events, for people to read. */
export async function describeObjects(command: ClientCommand): Promise<number> {
  const { objects, collections } = await readTargets(command);
  let count = 0;
  const show = async (target: ObjectTarget): Promise<void> => {
    const object = serverObject(await command.server.send('GET', target.path));
    const separator = count === 0 ? '' : '\n\n';
    count += 1;
    await print(separator + describeObject(object, await eventsOf(command, object), Date.now()));
  };
  const code = await eachItem(objects, show);
  for (const { resource, path } of collections) {
    for await (const { items } of command.server.pages(path, { query: selectorsOf(command) })) {
      for (const item of objectsAt(items)) await show(targetOfItem(command, resource, item));
    }
  }
  if (count === 0 && code === 0) note('No resources found.');
  return code;
}

/** Returns the newest events of an object, the oldest of them first; none when the user may not read events. */
async function eventsOf({ server }: ClientCommand, { metadata }: ServerObject): Promise<readonly DescribedEvent[]> {
  const namespace = metadata.namespace ?? 'default';
  const query = { fieldSelector: `involvedObject.uid=${metadata.uid ?? ''}`, limit: '50' };
  try {
    const { items } = await server.send('GET', `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`, { query });
    const events = Array.isArray(items) ? items.filter(isServerObject).map(eventOf) : [];
    return events.sort((a, b) => a.lastMs - b.lastMs);
  } catch (error) {
    if (error instanceof ServerRefusal && error.code === 403) return [];
    throw error;
  }
}

function eventOf(event: ServerObject): DescribedEvent {
  const last =
    textAt(event, 'series', 'lastObservedTime') || textAt(event, 'lastTimestamp') || textAt(event, 'eventTime');
  return {
    type: textAt(event, 'type'),
    reason: textAt(event, 'reason'),
    message: textAt(event, 'message'),
    from: textAt(event, 'source', 'component') || textAt(event, 'reportingComponent'),
    count: Number(valueAt(event, 'series', 'count') ?? event['count'] ?? 1),
    lastMs: Date.parse(last || textAt(event, 'metadata', 'creationTimestamp')),
  };
}
