import { controller } from 'homeostat';
import type { ControllerDefinition } from 'homeostat';
import { createExternalSystem } from 'homeostat/testing';
import { Badge, Person } from './staff.ts';

/** Returns an external system of doors. `open` issues a card if the person has none; `issue` always issues a card. */
export const createDoors = () =>
  createExternalSystem({
    name: 'doors',
    initialState: () => ({ cards: new Map<string, string>() }),
    operations: {
      open({ state }, name: string) {
        state.cards.set(name, 'open');
        return `card of ${name}`;
      },
      issue({ state }, name: string) {
        const held = [...state.cards.keys()].filter((card) => card.startsWith(name)).length;
        state.cards.set(`${name} ${held + 1}`, 'open');
      },
      close({ state }, name: string) {
        state.cards.delete(name);
      },
    },
  });

type DoorSystem = ReturnType<typeof createDoors>;

/** A controller that calls `open` with the name of the person, so that a repeated call changes nothing. */
export const opensByName = (doors: DoorSystem): ControllerDefinition =>
  controller(Person, {
    owns: [Badge],
    async reconcile({ object, ensure, reconcileID }) {
      const { name } = object.metadata;
      const card = await doors.calledBy({ reconcileID }).open(name);
      await ensure(Badge, name, { spec: { text: card } });
    },
    async cleanup({ name }) {
      await doors.operations.close(name);
    },
  });

/** A controller that issues a card. When the response is lost, it issues another card. */
export const issuesAgain = (doors: DoorSystem): ControllerDefinition =>
  controller(Person, {
    owns: [Badge],
    async reconcile({ object, client, ensure }) {
      const { name } = object.metadata;
      if ((await client.list(Badge)).items.some(({ metadata }) => metadata.name === name)) return;
      await doors.operations.issue(name);
      await ensure(Badge, name, { spec: { text: 'has a card' } });
    },
  });

/** A controller whose cleanup ignores a failed call, as if the door were already closed. */
export const swallowsErrors = (doors: DoorSystem): ControllerDefinition =>
  controller(Person, {
    owns: [Badge],
    async reconcile({ object, ensure }) {
      const { name } = object.metadata;
      await doors.operations.open(name);
      await ensure(Badge, name, { spec: { text: 'has a card' } });
    },
    async cleanup({ name }) {
      await doors.operations.close(name).catch(() => undefined);
    },
  });
