from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

vectorizer = CountVectorizer(stop_words="english")
counts = vectorizer.fit_transform(texts)
model = LatentDirichletAllocation(n_components=5, random_state=0).fit(counts)

model.components_.argsort(axis=1)[:, ::-1][:, :10]  # columns of the leading words of the topics
model.transform(counts[:1])  # topics of a document
model.transform(vectorizer.transform([new]))  # topics of a new document
