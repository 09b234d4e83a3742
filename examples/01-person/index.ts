import { BasePlugin, IndexSpec, multiValueAttribute, simpleAttribute } from 'homeostat';
import { personController } from './person-controller.ts';
import { Person } from './person.ts';

export default class PeoplePlugin extends BasePlugin {
  override async start(): Promise<void> {
    this.schemeManager.register(Person, (indexSpecs) => {
      indexSpecs.add(
        new IndexSpec({ name: 'spec.name', order: 'ASC', indexFunc: simpleAttribute(Person, (p) => p.spec.name) }),
      );
      indexSpecs.add(new IndexSpec({ name: 'spec.tags', indexFunc: multiValueAttribute(Person, (p) => p.spec.tags) }));
    });
    this.controllers.add(personController);
  }
}
