import { expect } from 'chai';
import { withArticle } from './article.ts';

describe('withArticle', () => {
  for (const expected of [
    'a Person',
    'an Event',
    'an APIService',
    'an HTTPRoute',
    'a URLMap',
    'a User',
    'an Unknown',
    'an Order',
    'a CustomResourceDefinition',
    'a HorizontalPodAutoscaler',
  ])
    it(`returns the word with its article: ${expected}`, () => {
      expect(withArticle(expected.split(' ')[1] ?? '')).to.equal(expected);
    });
});
