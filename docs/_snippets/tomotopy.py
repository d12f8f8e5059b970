import tomotopy

model = tomotopy.LDAModel(k=5, seed=0)
for text in texts:
    model.add_doc(text.split())
model.train(500)

[model.get_topic_words(t) for t in range(model.k)]  # words of the topics
model.docs[0].get_topic_dist()  # topics of a document
model.infer(model.make_doc(new.split()))[0]  # topics of a new document
model.save("model.tomotopy")
