import { controller, defineModel, definePlugin } from 'homeostat';

const spec = { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 100 } } } as const;
const status = { type: 'object', properties: { greeting: { type: 'string' } } } as const;
const Person = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  schema: { type: 'object', required: ['spec'], properties: { spec, status } },
  indexes: ['spec.name'],
});
const greet = controller(Person, {
  async reconcile({ object, status }) {
    await status({ greeting: `Hello ${object.spec.name}` });
  },
});
export default definePlugin({ models: [Person], controllers: [greet] });
