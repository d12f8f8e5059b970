from gensim.corpora import Dictionary
from gensim.models import LdaModel

words = [text.split() for text in texts]
dictionary = Dictionary(words)
bags = [dictionary.doc2bow(one) for one in words]
model = LdaModel(bags, num_topics=5, id2word=dictionary, passes=10, random_state=0)

model.show_topics(formatted=False)  # words of the topics
model.get_document_topics(bags[0])  # topics of a document
model[dictionary.doc2bow(new.split())]  # topics of a new document
model.save("model.gensim")
