# What locust sends: the same request as the others, by its faster client, without a pause.
from locust import FastHttpUser, task


class Caller(FastHttpUser):
    @task
    def get(self):
        self.client.get("/")
